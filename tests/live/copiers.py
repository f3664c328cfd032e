"""Copiers that a test runs beside itself, in a thread or in a process of its own, and their surveys.

`python -m tests.live.copiers FLOW.json SLOT`: fences as a driver does, surveys, copies until SIGTERM, and
prints a line for every change of a partition.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Self

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.batches.markers import fence_flow
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.copy.records.copier import RecordCopier
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import Preflight, preflight_flow
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.plan import TopicPlan
from jobs.replication.topics.sync import TopicSync, plan_sync, sync_topics
from tests.live.topics import configs_of, ends_of
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
# Longer than the transaction of a frozen copier stays open: one frozen while it commits holds positions back.
SURVEYED_WITHIN_S = 100
WITHIN_S = 60


def flow_between(source, target, topic: str, **settings) -> FlowSpec:
    """Return a flow that copies one topic (a pattern) under a name of its own."""
    name = f"batches {uuid.uuid4().hex[:8]}"
    settings = {"commit_interval_ms": 200} | settings
    return FlowSpec(name, source.connection, target.connection, (topic,), **settings)


def record_flow_between(source, target, topic: str, **settings) -> FlowSpec:
    """Return a flow that copies one topic, for `RecordCopying`; it is called by the topic."""
    return FlowSpec(f"copy {topic}", source.connection, target.connection, (topic,), **settings)


def survey_whole(flow: FlowSpec) -> Preflight:
    """Likewise, and again while partitions wait for something: a driver adds them later, a test does not."""
    found: list[Preflight] = []

    def waiting() -> list[object]:
        found[:] = [survey(flow)]
        return [row for row in found[0].plan.refused if row.state is CopyState.RETRYING]

    eventually(lambda: waiting() == [], SURVEYED_WITHIN_S, every=0.5)
    return found[0]


def survey(flow: FlowSpec) -> Preflight:
    """Ask both clusters and make the remote topics; raises what asking again does not help against."""

    def ask() -> Preflight:
        with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
            return preflight_flow(flow, source, target, Known())

    return eventually(ask, SURVEYED_WITHIN_S)


@dataclass
class SyncedTopics:
    """A flow, its two clusters, and what a driver does with their topics at every refresh."""

    flow: FlowSpec
    source: ClusterClient
    target: ClusterClient

    def survey(self) -> Preflight:
        """Ask again as a driver does while the flow's own topics, just made, have no leaders yet."""
        return eventually(
            lambda: preflight_flow(self.flow, self.source, self.target, Known()),
            SURVEYED_WITHIN_S,
            every=0.2,
        )

    def sync(self, last: TopicSync | None = None) -> TopicSync:
        survey = self.survey()
        topics = survey.copied_topics()
        for topic in topics:  # a topic that was just made is not known to every broker at once
            name = survey.places[topic.name].remote_topic
            eventually(lambda name=name: configs_of(self.target, name), 20)
        copied = last.overrides if last else None
        return sync_topics(self.source, self.target, self.flow, topics, datetime.now(UTC), copied)

    def plan(self, names: Sequence[str]) -> TopicPlan:
        return plan_sync(self.source, self.target, self.flow, describe_topics(self.source, names))


@contextmanager
def synced_topics(
    source: Connection, target: Connection, topic: str, **settings
) -> Iterator[SyncedTopics]:
    """Make a flow of one topic (a pattern) with open clients."""
    flow = FlowSpec(f"follow {topic}", source, target, (topic,), **settings)
    # A broker may be stalled for longer than the default.
    with ClusterClient(source, timeout_s=60) as one, ClusterClient(target, timeout_s=60) as other:
        yield SyncedTopics(flow, one, other)


class _Copying(ABC):
    """A call of a copier in a thread, while a test does something to the clusters around it.

    As a context manager it ends with the block. `rows` is what it said last of each partition.
    """

    def __init__(self, starts: Sequence[PartitionStart]) -> None:
        self.starts = starts
        self.rows: dict[int, PartitionProgress] = {}
        self.history: list[PartitionProgress] = []
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @abstractmethod
    def _copy(self) -> None:
        """Copy until `_stop` is set."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.stop()
        except BaseException:
            if kind is None:
                raise

    def stop(self, within_s: float = WITHIN_S) -> None:
        """Tell the copier to stop and wait for its end."""
        self._stop.set()
        self.wait_for_end(within_s)
        if self.error is not None:
            raise self.error

    def wait_for_end(self, within_s: float = WITHIN_S) -> None:
        self._thread.join(within_s * PATIENCE)
        assert not self._thread.is_alive(), "the copier did not end"

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait_for_position(self, position: int, partition: int = 0, within_s=WITHIN_S) -> None:
        self.wait_for_positions({partition: position}, within_s)

    def wait_for_positions(self, positions: Mapping[int, int], within_s=WITHIN_S) -> None:
        def missing() -> dict[int, int]:
            """Return where partitions are that have not come so far; -1 before their first row."""
            there = {p: self.rows[p].position if p in self.rows else -1 for p in positions}
            return {p: at for p, at in there.items() if at < positions[p]}

        eventually(lambda: self.error is not None or missing() == {}, within_s)
        assert self.error is None, self.error

    def wait_for_state(
        self, state: CopyState, partition: int = 0, within_s=WITHIN_S, *, about: str = ""
    ) -> PartitionProgress:
        """Wait for a state of a partition, and a reason that names `about`; return the row that tells it."""

        def told() -> PartitionProgress | None:
            row = self.rows.get(partition)
            return row if row and row.state is state and about in row.reason else None

        return eventually(told, within_s)

    def wait_for_reason(self, words: str, within_s=WITHIN_S) -> PartitionProgress:
        """Wait until some row has said why, whatever the rows after it say; return the first."""
        eventually(lambda: any(words in row.reason for row in self.history), within_s)
        return next(row for row in self.history if words in row.reason)

    def _report(self, rows: Sequence[PartitionProgress]) -> None:
        self.history += rows
        # Another one, because a test may be going through the one before.
        self.rows = self.rows | {row.partition: row for row in rows}

    def _run(self) -> None:
        try:
            self._copy()
        except BaseException as error:  # noqa: BLE001  the test's thread raises it
            self.error = error


class BatchCopying(_Copying):
    """One call of `FlowCopier.copy`: a share of a flow, batch by batch."""

    def __init__(
        self, flow: FlowSpec, starts: Sequence[PartitionStart] | None = None, *, slot: int = 0
    ) -> None:
        super().__init__(starts if starts is not None else survey_whole(flow).plan.starts)
        self.flow = flow
        self._copier = FlowCopier(flow, slot, self._stop.is_set, self._report)

    def _copy(self) -> None:
        self._copier.copy(self.starts)


class RecordCopying(_Copying):
    """One call of `RecordCopier.copy`: record by record."""

    def __init__(
        self,
        flow: FlowSpec,
        starts: Sequence[PartitionStart] | None = None,
        *,
        commit_s: float = 0.3,
    ) -> None:
        super().__init__(starts if starts is not None else survey(flow).plan.starts)
        self._copier = RecordCopier(flow, commit_s=commit_s)

    def _copy(self) -> None:
        self._copier.copy(self.starts, self._stop.is_set, self._report)


def copy_all(flow: FlowSpec, source, topic: str) -> BatchCopying:
    """Copy until everything that is on the source now is there."""
    with BatchCopying(flow) as copying:
        copying.wait_for_positions(ends_of(source, topic))
    return copying


def copy_records(flow: FlowSpec, ends: Mapping[int, int]) -> RecordCopying:
    """Copy record by record until each partition is at its end."""
    with RecordCopying(flow) as copying:
        copying.wait_for_positions(ends)
    return copying


class CopierProcess:
    """The process seen from the test; `rows` is what it said about each partition in its life."""

    started: ClassVar[list["CopierProcess"]] = []

    def __init__(self, flow: FlowSpec, folder: Path, slot: int = 0) -> None:
        self.rows: dict[tuple[str, int], dict] = {}
        self.error = ""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "flow.json"
        path.write_text(json.dumps(flow.to_mapping()), encoding="utf-8")
        self.log = folder / "worker.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.live.copiers", str(path), str(slot)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.started.append(self)

    @property
    def code(self) -> int | None:
        """How the process ended; None: it runs."""
        return self._process.poll()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def records(self) -> int:
        return sum(row["records"] for row in list(self.rows.values()))

    def duplicates(self) -> int:
        return sum(row["duplicates"] for row in list(self.rows.values()))

    def wait_until_begun(self) -> None:
        eventually(lambda: self.rows or self.code is not None, 60)
        assert self.code is None, self.error

    def wait_until_copying(self) -> None:
        eventually(lambda: self.records() > 0 or self.code is not None, 60)
        assert self.code is None, self.error

    def most_memory(self) -> int:
        """Return the largest resident size so far, in bytes (Linux)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def positions(self) -> dict[tuple[str, int], int]:
        return {where: row["position"] for where, row in list(self.rows.items())}

    def kill(self) -> None:
        self._end(signal.SIGKILL, 10)

    def stop(self, within_s: float = 40) -> None:
        self._end(signal.SIGTERM, within_s)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def wait(self, within_s: float) -> int:
        code = self._process.wait(within_s * PATIENCE)
        self._reader.join(10 * PATIENCE)
        return code

    def _end(self, number: signal.Signals, within_s: float) -> None:
        if self.is_running:
            self._process.send_signal(number)
        self.wait(within_s)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # killed in the middle of a line
                told = json.loads(line)
                if "error" in told:
                    self.error = told["error"]
                else:
                    self.rows[told["topic"], told["partition"]] = told


def main(path: str, slot: str) -> int:
    flow = FlowSpec.from_mapping(json.loads(Path(path).read_text(encoding="utf-8")))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def say(line: dict) -> None:
        os.write(1, json.dumps(line).encode() + b"\n")

    try:
        fence_flow(flow)
        starts = survey_whole(flow).plan.starts
        FlowCopier(
            flow, int(slot), stop.is_set, lambda rows: [say(asdict(row)) for row in rows]
        ).copy(starts)
    except (ClusterFault, AssertionError) as fault:  # the survey was not possible in time
        say({"error": f"{type(fault).__name__}: {fault}"})
        return 3
    return 0


if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s"
    )
    sys.exit(main(*sys.argv[1:]))
