"""Rows and stand-ins that the tests of runs, flows and the overview share."""

import itertools
import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.accounts.models import Role, User
from console.clusters.models import Cluster, Topic
from console.frame.rounds import EARLY, REST_PER_WORK, Round
from console.replication.flows.models import FlowPartition, ReplicationFlow
from console.replication.measurement.collect import FlowQueries
from console.runs.launcher import this_host
from console.runs.models import Run, RunState
from jobs.cluster.errors import Unreachable
from jobs.replication.copy.contract import CopyState, PartitionProgress
from jobs.spark import contract
from jobs.spark.contract import JobResult

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def count_queries(client, path: str) -> int:
    """Return how many queries a page or route needs that answers well, from the second time on."""
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path)
    assert answer.status_code == 200
    return len(captured)


def assert_due_after(row: Round, at: datetime, every_s: float) -> None:
    """Check when the next round is due, whatever time the last one took on this machine."""
    took_s = row.duration_ms / 1000
    due = at + timedelta(seconds=max(every_s - took_s, REST_PER_WORK * took_s)) - EARLY
    assert abs(row.claimed_until - due) < timedelta(milliseconds=5)


def make_user(role: str = Role.OPERATOR, name: str = "") -> User:
    return User.objects.create_user(username=name or f"{role}-{next(_numbers)}", role=role)


def make_cluster(alias: str = "east", **fields) -> Cluster:
    values = {"bootstrap_servers": f"{alias}.example:9092", "created_at": NOW} | fields
    return Cluster.objects.get_or_create(alias=alias, defaults=values)[0]


def make_topic(cluster: Cluster, name: str, **fields) -> Topic:
    values = {"partition_count": 3, "changed_at": NOW} | fields
    return Topic.objects.create(cluster=cluster, name=name, **values)


def make_flow(name: str = "orders to west", **fields) -> ReplicationFlow:
    source, target = fields.pop("source", "east"), fields.pop("target", "west")
    values = {
        "source": make_cluster(source),
        "target": make_cluster(target),
        "topics": ["orders"],
        "created_at": NOW,
    } | fields
    return ReplicationFlow.objects.create(name=name, **values)


def make_run(flow: ReplicationFlow | None = None, **fields) -> Run:
    """Make a running run; of a flow, it is the one that the flow points at."""
    values = {
        "kind": "replicate",
        "title": "Replicate",
        "subject": flow.subject if flow else "",
        "state": RunState.RUNNING,
        "created_at": NOW,
        "started_at": NOW,
        "heartbeat_at": NOW,
        "host": this_host(),
        "arguments": {"flow": flow.spec().to_mapping(), "reset_topics": []} if flow else {},
    } | fields
    run = Run.objects.create(**values)
    if flow is not None:
        flow.run = run
        flow.save(update_fields=["run"])
    return run


def make_partition(flow: ReplicationFlow, topic: str = "orders", partition: int = 0, **fields):
    values = {"state": "copying", "since": NOW, "updated_at": NOW} | fields
    return FlowPartition.objects.create(flow=flow, topic=topic, partition=partition, **values)


def progress(
    *rows: dict, at: datetime = NOW, surveyed: bool = True, fault: str = "", **topics
) -> dict:
    """Make the document that the driver of a flow writes."""
    names = {row["topic"] for row in rows}
    places = {
        name: {
            "topic_id": f"id-{name}",
            "remote_topic": f"east.{name}",
            "partitions": 1,
            "problem": None,
        }
        for name in names
    }
    return {
        "at_ms": int(at.timestamp() * 1000),
        "message": fault or "Copying.",
        "surveyed": surveyed,
        "fault": fault,
        "restarts": 0,
        "rss_bytes": 1_000_000,
        "topics": places | topics,
        "partitions": list(rows),
    }


def partition_row(topic: str = "orders", partition: int = 0, **fields) -> dict:
    """Make one partition of that document."""
    told = PartitionProgress(
        topic,
        partition,
        100,
        CopyState.COPYING,
        last_timestamp_ms=1_000,
        records=100,
        bytes=1000,
        batches=2,
        path="batch",
    )
    return json.loads(json.dumps(asdict(told))) | {"rate_per_s": 10.0} | fields


class StubLauncher:
    """Keepers that exist only on paper; the folders are real."""

    def __init__(self) -> None:
        self.started: list[Path] = []
        self.alive: set[Path] = set()
        self.killed: list[Path] = []
        self.removed: list[Path] = []
        self.leases: list[Path] = []
        self.problem: Exception | None = None

    def start_run(self, spec, run_dir: Path, environment=None) -> int:
        if self.problem:
            raise self.problem
        run_dir.mkdir(parents=True, exist_ok=True)
        contract.write_spec(run_dir, spec)
        self.started.append(run_dir)
        self.alive.add(run_dir)
        return 4711

    def request_stop(self, run_dir: Path) -> None:
        (run_dir / contract.STOP).touch()

    def touch_lease(self, run_dir: Path) -> None:
        self.leases.append(run_dir)

    def is_alive(self, run_dir: Path) -> bool:
        return run_dir in self.alive

    def read_progress(self, run_dir: Path):
        return contract.read_json(run_dir / contract.PROGRESS)

    def read_log_tail(self, run_dir: Path, most_bytes: int = 0) -> str:
        path = run_dir / contract.LOG
        return path.read_text() if path.exists() else ""

    def kill_run(self, run_dir: Path) -> None:
        self.killed.append(run_dir)
        self.alive.discard(run_dir)

    def remove_run(self, run_dir: Path) -> None:
        self.removed.append(run_dir)

    def end(self, run_dir: Path, result: JobResult | None = None, log: str = "") -> None:
        """End a keeper: with a result, or killed."""
        self.alive.discard(run_dir)
        (run_dir / contract.LOG).write_text(log)
        if result is not None:
            contract.write_result(run_dir, result)


class StubFlow:
    """Two clusters that say what a test wants; None instead of an answer is a cluster that is away."""

    def __init__(
        self, *, positions=None, ranges=None, timestamps=None, data_ends=None, heads=None
    ) -> None:
        self._positions, self._ranges = positions, ranges
        self._timestamps, self._data_ends = timestamps or {}, data_ends or {}
        self._heads = heads or {}
        self.asked: list[str] = []
        self.queries = FlowQueries(
            positions=self.positions,
            ranges=self.ranges,
            newest=self.newest,
            timestamps=self.timestamps,
            last_timestamps=self.last_timestamps,
            data_ends=self.data_ends,
        )

    def positions(self, flow):
        self.asked.append("positions")
        return self._answer(self._positions, flow.target.alias)

    def ranges(self, flow, partitions, what="ranges"):
        self.asked.append(what)
        known = self._answer(self._ranges, flow.source.alias)
        return {where: known[where] for where in partitions if where in known}

    def newest(self, flow, partitions):
        return self.ranges(flow, partitions, "timestamps of the end")

    def timestamps(self, flow, offsets_of):
        self.asked.append("timestamps")
        return {where: self._timestamps.get(where) for where in offsets_of}

    def last_timestamps(self, flow, ends):
        """The last record is one of data: what ListOffsets tells of it."""
        self.asked.append("last timestamps")
        known = self._answer(self._ranges, flow.source.alias)
        told = {where: found.max_timestamp_ms for where, found in known.items()}
        return {where: self._heads.get(where, told.get(where)) for where in ends}

    def data_ends(self, flow, spans):
        self.asked.append("data ends")
        return {where: self._data_ends[where] for where in spans if where in self._data_ends}

    def _answer(self, value, alias):
        if value is None:
            raise Unreachable("no broker answered", cluster=alias)
        return value
