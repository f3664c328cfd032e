"""A log that is uploaded to the console, and questions about it over REST."""

import io
import tarfile
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.quorum.log.folder import TOPIC_FOLDER
from tests.waiting import eventually

# An engine starts first, and on a new machine its tasks compile their loops.
ANSWERED_WITHIN_S = 120
LIVE = {"QUEUED", "RUNNING"}
# What tells of a metadata log; the rest are indexes, and files that come and go.
_TOLD = ("*.log", "*.checkpoint", "leader-epoch-checkpoint", "partition.metadata", "quorum-state")


def copy_of_log(data: Path, into: Path) -> Path:
    """Copy the metadata log of a running node, and what stands beside it; return the log's folder."""
    log = into / TOPIC_FOLDER
    log.mkdir(parents=True)
    for name in _TOLD:
        for file in (data / TOPIC_FOLDER).glob(name):
            (log / file.name).write_bytes(file.read_bytes())
    (into / "meta.properties").write_bytes((data / "meta.properties").read_bytes())
    return log


@contextmanager
def imported(world, folder: Path) -> Iterator[str]:
    """A log that the console imported and read; it is forgotten with the block. Yields its name."""
    name = f"log-{uuid.uuid4().hex[:8]}"
    upload(world.console.visitor, name, folder)
    try:
        eventually(lambda: is_read(world, f"_{name}"), ANSWERED_WITHIN_S, every=0.3)
        yield f"_{name}"
    finally:
        world.console.visitor.delete(f"api/v1/quorum/imports/_{name}/")


def is_read(world, log: str) -> bool:
    """Return whether Spark has read the partitions of an imported log into the console's pages."""
    path = f"metadata-changes/?cluster={log}&kind=partition&limit=1"
    return bool(world.get(path)["results"])


def upload(visitor, name: str, folder: Path) -> None:
    """Send a folder as an archive, as a browser does."""
    border = uuid.uuid4().hex
    part = f"--{border}\r\nContent-Disposition: form-data; name="
    body = (
        f'{part}"name"\r\n\r\n{name}\r\n{part}"file"; filename="node.tar.gz"\r\n\r\n'.encode()
        + packed(folder)
        + f"\r\n--{border}--\r\n".encode()
    )
    headers = {
        "Content-Type": f"multipart/form-data; boundary={border}",
        "Referer": visitor.url,
        "X-CSRFToken": visitor._csrf(),
    }
    address = f"{visitor.url}api/v1/quorum/imports/"
    visitor._open(urllib.request.Request(address, body, headers)).close()


def packed(folder: Path) -> bytes:
    """Return a tar.gz of a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(folder, folder.name)
    return file.getvalue()


def ask(world, kind: str, **arguments: object) -> str:
    """Ask a question and return the id of its run."""
    return str(world.post("runs/", {"kind": kind, "arguments": arguments})["id"])


def ended(world, run: str) -> str:
    """Wait for the end of a run and return its state."""
    told: dict = {}

    def is_over() -> bool:
        told.update(world.get(f"runs/{run}/"))
        return told["state"] not in LIVE

    eventually(is_over, ANSWERED_WITHIN_S, every=0.2)
    return str(told["state"])


def answer(world, run: str) -> dict:
    """Wait for the answer of a run and return its document."""
    assert ended(world, run) == "SUCCEEDED", world.get(f"runs/{run}/")["error"]
    return dict(world.get(f"runs/{run}/result/"))
