"""Several flows in one engine: they copy, end one by one, and move to another engine."""

from pathlib import Path

import pytest

from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, settings, submit
from jobs.spark.contract import JobSpec, Outcome
from jobs.spark.engine import door, folder
from tests.live.records import read_all
from tests.live.spark.runs import Writer
from tests.live.topics import new_topic
from tests.waiting import eventually

STARTS_WITHIN_S = 120


class Flows:
    """Flows of a topic each, in one folder of runs."""

    def __init__(self, east, west, runs: Path) -> None:
        self.east, self.west, self.runs = east, west, runs

    def start(self) -> Path:
        topic = new_topic(self.east, 2)
        flow = FlowSpec(f"flow-{topic}", self.east.connection, self.west.connection, (topic,))
        values = {"flow": flow.to_mapping(), "refresh_s": 1.0}
        run_dir = self.runs / topic
        door.start_run(JobSpec(topic, settings.FLOW, values, lease_s=600.0), run_dir)
        return run_dir

    @property
    def engines(self) -> list[Path]:
        return folder.list_engines(self.runs, settings.FLOWS)


@pytest.fixture
def flows(east, west, tmp_path):
    runs = tmp_path / "runs"
    yield Flows(east, west, runs)
    for engine in folder.list_engines(runs, settings.FLOWS):
        submit.kill_run(engine)
        eventually(lambda engine=engine: not submit.is_alive(engine))


def rows(run_dir: Path) -> list[dict]:
    return (door.read_progress(run_dir) or {}).get("partitions", [])


def counts(run_dir: Path) -> int:
    return sum(row["records"] for row in rows(run_dir))


def wait_for(run_dir: Path, ends: dict[int, int]) -> None:
    def is_there() -> bool:
        found = {row["partition"]: row["position"] for row in rows(run_dir)}
        return all(found.get(partition, 0) >= end for partition, end in ends.items())

    try:
        eventually(is_there, STARTS_WITHIN_S)
    except AssertionError:
        raise AssertionError(f"{rows(run_dir)} {door.read_log_tail(run_dir)}") from None


def values(cluster, topic: str) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for record in read_all(cluster, topic):
        found.setdefault(record.partition, []).append(record.value)
    return found


def test_flows_of_one_engine_end_one_by_one(flows):
    first, second = flows.start(), flows.start()
    for run_dir in (first, second):
        with Writer(flows.east, run_dir.name, range(2)) as writer:
            eventually(lambda writer=writer: len(writer.written) > 500)
        wait_for(run_dir, writer.ends)
    [engine] = flows.engines
    assert {row["flow"] for row in submit.read_progress(engine)["flows"]} == {
        f"flow-{first.name}",
        f"flow-{second.name}",
    }
    door.kill_run(first)
    eventually(lambda: contract.read_result(first) is not None)
    assert contract.read_result(first).outcome is Outcome.STOPPED
    assert door.is_alive(second)
    with Writer(flows.east, second.name, range(2)) as writer:
        eventually(lambda: len(writer.written) > 500)
    end_of = {p: len(v) for p, v in values(flows.east, second.name).items()}
    wait_for(second, end_of)


def test_a_roll_moves_every_flow_without_a_loss_and_its_counts_continue(flows):
    runs = [flows.start(), flows.start()]
    writers = [Writer(flows.east, run_dir.name, range(2)) for run_dir in runs]
    for writer in writers:
        writer.__enter__()
    try:
        for run_dir in runs:
            wait_for(run_dir, {0: 100, 1: 100})
        [old] = flows.engines
        before = [counts(run_dir) for run_dir in runs]
        new = door.roll(flows.runs, old)

        def have_moved() -> bool:
            assert all(door.is_alive(run_dir) for run_dir in runs)
            return all(folder.engine_of(run_dir) == new for run_dir in runs)

        eventually(have_moved, STARTS_WITHIN_S)
        eventually(lambda: not submit.is_alive(old), STARTS_WITHIN_S)
        assert contract.read_result(old).outcome is Outcome.SUCCEEDED
        for run_dir, count in zip(runs, before, strict=True):
            wait_for(run_dir, {0: 1000, 1: 1000})
            assert counts(run_dir) >= count
    finally:
        for writer in writers:
            writer.__exit__()
    for run_dir in runs:
        source = values(flows.east, run_dir.name)
        wait_for(run_dir, {partition: len(found) for partition, found in source.items()})
        [remote] = {one["remote_topic"] for one in door.read_progress(run_dir)["topics"].values()}
        assert values(flows.west, remote) == source
        submit.request_stop(run_dir)
        eventually(lambda run_dir=run_dir: not door.is_alive(run_dir))
        assert contract.read_result(run_dir).outcome is Outcome.STOPPED
