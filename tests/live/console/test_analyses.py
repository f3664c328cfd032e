"""A log is uploaded and asked about in a running console: by its engine, over REST."""

import io
import tarfile
import urllib.request
import uuid

import pytest

from console.frame.processes.demo_client import Refused
from jobs.spark import submit
from tests.support import KRAFT_LOG
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(600)
# An engine starts first, and on a new machine its tasks compile their loops.
READ_WITHIN_S = 240
VOTER = "1@DFV_jw2OTNSJdDCXmgr-2A"


def packed() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(KRAFT_LOG, "node-1")
    return file.getvalue()


def upload(visitor, name: str) -> None:
    """Send an archive as a browser does."""
    border = uuid.uuid4().hex
    field = f'--{border}\r\nContent-Disposition: form-data; name="name"\r\n\r\n{name}\r\n'
    head = (
        f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="node-1.tar.gz"\r\n'
    )
    body = f"{field}{head}\r\n".encode() + packed() + f"\r\n--{border}--\r\n".encode()
    headers = {
        "Content-Type": f"multipart/form-data; boundary={border}",
        "Referer": visitor.url,
        "X-CSRFToken": visitor._csrf(),
    }
    address = f"{visitor.url}api/v1/quorum/imports/"
    visitor._open(urllib.request.Request(address, body, headers)).close()


def answer(visitor, kind: str, **arguments) -> dict:
    """Ask, and wait for the result document."""
    run = visitor.post("api/v1/runs/", {"kind": kind, "arguments": arguments})
    told = {}

    def is_over() -> bool:
        told.update(visitor.get(f"api/v1/runs/{run['id']}/"))
        return told["state"] not in {"QUEUED", "RUNNING"}

    eventually(is_over, READ_WITHIN_S)
    assert told["state"] == "SUCCEEDED", told["error"]
    return dict(visitor.get(f"api/v1/runs/{run['id']}/result/"))


@pytest.fixture(scope="module")
def visitor(started):
    upload(started.visitor, "incident")
    yield started.visitor
    started.visitor.delete("api/v1/quorum/imports/_incident/")
    for engine in (started.home / "runs").glob("engine-*"):
        submit.request_stop(engine)
        eventually(lambda engine=engine: not submit.is_alive(engine), 60)


def test_an_uploaded_log_has_its_voters_at_once_and_its_partitions_by_spark(visitor):
    def partitions() -> list[dict]:
        return visitor.get("api/v1/metadata-changes/?cluster=_incident&kind=partition")["results"]

    eventually(lambda: visitor.get("api/v1/quorum/voter-sets/?cluster=_incident")["results"], 60)
    eventually(partitions, READ_WITHIN_S)
    (run,) = [
        one for one in visitor.get("api/v1/runs/")["results"] if one["kind"] == "metadata-history"
    ]
    assert (run["state"], run["requested_by"]) == ("SUCCEEDED", "admin")


def test_who_the_voters_were_at_a_moment_is_answered_with_a_document_and_tables(visitor):
    told = answer(visitor, "quorum-history", log="_incident", at="2026-11-21T07:18:00Z")
    assert told["facts"]["voters_at"] == [VOTER]
    assert told["arguments"]["log"] == "_incident"
    run = visitor.get("api/v1/runs/")["results"][0]
    rows = visitor.get(f"api/v1/runs/{run['id']}/tables/voters_at/")
    assert VOTER in str(rows)


def test_what_cannot_be_asked_is_refused_at_its_argument(visitor):
    with pytest.raises(Refused) as refusal:
        visitor.post("api/v1/runs/", {"kind": "before-a-moment", "arguments": {"log": "_nothing"}})
    assert refusal.value.status == 400
