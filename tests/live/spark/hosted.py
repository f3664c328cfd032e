"""Flows that a test hands over to an engine of flows, and what it does to the engine and its slots."""

import os
import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, processes, submit
from jobs.spark.engine import door
from tests.live.copied_records import assert_equal
from tests.live.records import SteadyProducer
from tests.live.spark.runs import STARTS_WITHIN_S, RunningFlow, engine_of
from tests.live.topics import ends_of, new_topic
from tests.live.whole_batches import read_placed
from tests.waiting import eventually

ENDS_WITHIN_S = 60


class HostedFlow(RunningFlow):
    """A flow of one topic that is handed over; its runs are beside each other in one folder.

    `engine` is the flow's own setting, None where it says nothing.
    """

    def __init__(
        self, source, target, runs: Path, *, topic="", engine=None, environment=None, **settings
    ) -> None:
        self.source, self.target = source, target
        self.topic = topic or new_topic(source, 2)
        flow = FlowSpec(f"flow {self.topic}", source.connection, target.connection, (self.topic,))
        self.flow = replace(flow, **settings)
        super().__init__(self.flow, runs / "run", environment=environment)
        values = dict(self._spec.arguments)
        if engine:
            values["flow"] = {**values["flow"], "engine": engine}
        self._spec = replace(self._spec, run_id=self.flow.name, arguments=values)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        door.kill_run(self.folder)
        eventually(lambda: not door.is_alive(self.folder), ENDS_WITHIN_S)

    def start(self) -> None:
        """Start a run of the flow; another one, where the one before has ended."""
        self.folder = self.folder.with_name(f"run-{uuid.uuid4().hex[:8]}")
        door.start_run(self._spec, self.folder, self._environment)

    def stop(self):
        door.request_stop(self.folder)
        eventually(lambda: not door.is_alive(self.folder), ENDS_WITHIN_S)
        return contract.read_result(self.folder)

    @property
    def is_alive(self) -> bool:
        return door.is_alive(self.folder)

    @property
    def engine(self) -> Path:
        return engine_of(self.folder)

    @property
    def slots(self) -> list[int]:
        """The pids of the slots that copy for the flow."""
        rows = engine_progress(self.engine)["slots"]
        return [row["pid"] for row in rows if self.flow.name in row["flows"] and row["pid"]]

    @property
    def records(self) -> int:
        return sum(row["records"] for row in self.rows().values())

    def wait_for_ends(self, within_s: float = STARTS_WITHIN_S) -> None:
        """Wait until all is copied that the topic has as soon as it has something."""

        def ends() -> dict[int, int]:
            found = ends_of(self.source, self.topic)
            return found if all(found.values()) else {}

        self.wait_for_positions(eventually(ends, ENDS_WITHIN_S), self.topic, within_s)

    def assert_equal(self) -> None:
        """Compare both sides record by record: nothing is lost, nothing is there twice."""
        remote = f"{self.source.plan.alias}.{self.topic}"
        assert_equal(read_placed(self.source, self.topic), read_placed(self.target, remote))

    def log_tail(self) -> str:
        return door.read_log_tail(self.folder, 3000)


@contextmanager
def hosted(flows: Sequence[HostedFlow]):
    """Start flows; in the end they and their engines are killed."""
    runs = {one.folder.parent for one in flows}
    try:
        with ExitStack() as stack:
            yield [stack.enter_context(one) for one in flows]
    finally:
        for engine in [one for folder in runs for one in folder.glob("flows-*")]:
            submit.kill_run(engine)
            eventually(lambda engine=engine: not submit.is_alive(engine), ENDS_WITHIN_S)


@contextmanager
def written(flows: Sequence[HostedFlow], per_s: float = 200):
    """Write to the topics of flows meanwhile."""
    with ExitStack() as stack:
        for one in flows:
            stack.enter_context(SteadyProducer(one.source, one.topic, 2, per_s=per_s))
        yield


def engine_progress(engine: Path) -> Mapping:
    return submit.read_progress(engine) or {"slots": [], "flows": [], "restarts": 0}


def names_in(engine: Path) -> set[str]:
    """The names of the flows that an engine has."""
    return {row["flow"] for row in engine_progress(engine)["flows"]}


def kill_slot(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def kill_engine(engine: Path) -> None:
    """Kill -9 everything below the supervisor of an engine at once."""
    keeper = contract.read_json(engine / contract.KEEPER)["pid"]
    processes.signal_all(processes.children_of(keeper), signal.SIGKILL)
    eventually(lambda: not submit.is_alive(engine), ENDS_WITHIN_S)
