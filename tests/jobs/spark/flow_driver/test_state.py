"""When the progress of a running flow is written, and what of it is made again."""

import json

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.channel.messages import values_of
from jobs.spark.control import ControlFile
from jobs.spark.flow_driver.state import ROWS_PER_S, UNCHANGED_S, FlowState

FLOW = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
FIRST = TopicPartition("t", 0)
NOW_S = 1000.0
QUIET_S = NOW_S + 60  # rates change no more


def row(partition: int, records: int = 0) -> dict:
    state = CopyState.CAUGHT_UP
    return values_of(PartitionProgress("t", partition, records, state, records=records))


@pytest.fixture
def flow(tmp_path):
    def of(partitions: int) -> FlowState:
        state = FlowState(FLOW, tmp_path, ControlFile(tmp_path))
        state.progress.start([row(number) for number in range(partitions)])
        state.show((), {}, QUIET_S)
        (tmp_path / "progress.json").unlink()
        return state

    return of


def written(state: FlowState) -> list[int] | None:
    """The records of each partition in the file, None while it is not written."""
    path = state.run_dir / "progress.json"
    if not path.exists():
        return None
    return [one["records"] for one in json.loads(path.read_text())["partitions"]]


def test_progress_without_a_change_is_not_written(flow):
    state = flow(3)
    state.show((), {}, QUIET_S + 1)
    assert written(state) is None


def test_its_age_says_that_the_driver_lives(flow):
    state = flow(3)
    state.show((), {}, QUIET_S + UNCHANGED_S)
    assert written(state) == [0, 0, 0]


def test_a_report_is_shown_at_the_next_look(flow):
    state = flow(3)
    state.progress.update([row(1, records=5)], QUIET_S)
    state.show((), {}, QUIET_S + 1)
    assert written(state) == [0, 5, 0]


CHANGES = {
    "message": lambda state: setattr(state, "message", "Restarts."),
    "restart": lambda state: state.restart("A task is gone."),
    "pause": lambda state: state.progress.mark(FIRST, CopyState.PAUSED),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_so_is_another_change(flow, change):
    state = flow(1)
    change(state)
    state.show((), {}, QUIET_S + 1)
    assert written(state) == [0]


def test_large_progress_is_written_less_often(flow):
    state = flow(2 * ROWS_PER_S)
    state.progress.update([row(0, records=5)], QUIET_S)
    state.show((), {}, QUIET_S + 1.9)
    assert written(state) is None
    state.show((), {}, QUIET_S + 2)
    assert written(state)[0] == 5


def test_without_a_time_it_is_written_at_once(flow):
    state = flow(1)
    state.show()
    assert written(state) == [0]
