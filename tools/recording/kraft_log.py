"""The metadata log of a real node whose beginning was deleted, see tests/conformance/kraft_log."""

import hashlib
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

from jobs.cluster.admin.acls import AclBinding, create_acls
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.lab.errors import LabError
from jobs.lab.install.releases import KafkaRelease
from jobs.lab.node import Node
from jobs.quorum.log.folder import read_folder
from tools.recording.case_files import write_json
from tools.recording.one_node import one_node, run_tool

_SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "metadata.log.max.record.bytes.between.snapshots": "10000",
    "metadata.max.retention.bytes": "40000",
}
_SEGMENT_BYTES = "16384"
# Names changed between 4.0 and 4.3: of the settings for segments below 8 MiB, and of the tool's class.
_OLDER = (4, 0)
_ACLS = [
    AclBinding("CLUSTER", "LITERAL", "kafka-cluster", f"User:{who}", "*", operation, "ALLOW")
    for who, operation in {"bob": "CLUSTER_ACTION", "carol": "DESCRIBE"}.items()
]
_TOPICS = [f"t{number}" for number in range(12)]
_LOG = "__cluster_metadata-0"
# What a node makes again out of its log, or deletes next.
_LEFT_OUT = shutil.ignore_patterns("*index", "*.snapshot", "*.deleted", "*.part", ".lock")
# A controller looks once a minute what may be deleted.
_WITHIN_S = 240.0


def record_kraft_log(version: str, folder: Path) -> None:
    """Write `node-1`, `expected_dump.txt`, `sha256.txt` and `facts.json`; about a minute.

    Raises `LabError` when a change is refused or the log keeps its beginning.
    """
    log = folder / "node-1" / _LOG
    with one_node(version, overrides=_SETTINGS | _segments(version)) as cluster:
        node = cluster.node(1)
        _change(cluster.connection)
        _wait_until_deleted(node.plan.data / _LOG)
        node.stop()
        shutil.copytree(node.plan.data / _LOG, log, ignore=_LEFT_OUT)
        for name in ("meta.properties", "bootstrap.checkpoint"):
            shutil.copy(node.plan.data / name, folder / "node-1")
        (folder / "expected_dump.txt").write_text(_dump(node, log), encoding="utf-8")
    files = sorted(path for path in (folder / "node-1").rglob("*") if path.is_file())
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder)}" for p in files)
    (folder / "sha256.txt").write_text("\n".join(sums) + "\n", encoding="utf-8")
    facts: dict[str, object] = {"kafka": version, "recorded": str(datetime.now(UTC).date())}
    facts["log_start_offset"] = read_folder(log).log_start_offset
    write_json(folder / "facts.json", facts)


def _segments(version: str) -> dict[str, str]:
    """Return the settings for small segments, by the names that the version has."""
    names = ["internal.metadata.log.segment.bytes"]
    if KafkaRelease(version).number <= _OLDER:
        names = ["metadata.log.segment.bytes", "metadata.log.segment.min.bytes"]
    return dict.fromkeys(names, _SEGMENT_BYTES)


def _change(connection: Connection) -> None:
    with ClusterClient(connection, timeout_s=60) as client:
        faults = [*create_acls(client, _ACLS).values()]
        for name in _TOPICS:  # one at a time: a request is one batch, which must fit into a segment
            faults += create_topics(client, {name: NewTopicSpec(40)}).values()
        faults += delete_topics(client, _TOPICS[:8]).values()
    if refused := [str(fault) for fault in faults if fault]:
        raise LabError(refused[0])


def _wait_until_deleted(log: Path) -> None:
    end = time.monotonic() + _WITHIN_S
    while min(int(path.stem) for path in log.glob("*.log")) == 0:
        if time.monotonic() > end:
            raise LabError(f"The log still begins at offset 0 after {_WITHIN_S:.0f} s.")
        time.sleep(1)


def _dump(node: Node, log: Path) -> str:
    """Return what kafka-dump-log prints of all segments and snapshots, with their bare names."""
    files = sorted(str(path) for path in log.iterdir() if path.suffix in {".log", ".checkpoint"})
    words = ("--cluster-metadata-decoder", "--print-data-log", "--files", ",".join(files))
    package = "kafka.tools" if node.jvm.release.number <= _OLDER else "org.apache.kafka.tools"
    said = run_tool(node, f"{package}.DumpLogSegments", *words)
    return said.replace(f"{log}/", "")
