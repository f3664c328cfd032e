"""Where the partitions of a lost task resume."""

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.transport.timing import LASTING_S
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.positions import Position, Positions
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.contract import FIRST_RECORD
from jobs.spark.control import ControlFile
from jobs.spark.flow_driver.recovery import RECOVERY, PositionsBehind, RunPatience, find_starts
from jobs.spark.flow_driver.state import FlowState
from tests.support import Clock

WHERE = TopicPartition("t", 0)
GIVEN = PartitionStart("t", 0, 10, "east.t", last_sync=(9, 4))


def positions(next_offset: int) -> Positions:
    return Positions({WHERE: Position(next_offset, b"key", remote_end=7)})


def test_a_partition_resumes_at_the_position_on_the_target():
    (start,) = find_starts([GIVEN], {}, lambda: positions(50))
    assert (start.position, start.remote_end) == (50, 7)


def test_a_partition_that_was_never_committed_resumes_where_it_was_given():
    assert find_starts([GIVEN], {}, lambda: Positions({})) == [GIVEN]


def test_positions_are_read_again_until_they_have_reached_what_the_task_said():
    answers = iter([positions(10), positions(30), positions(50)])
    (start,) = find_starts([GIVEN], {WHERE: 50}, lambda: next(answers))
    assert start.position == 50


def test_positions_that_stay_behind_are_not_believed():
    with pytest.raises(PositionsBehind, match="committed up to 50"):
        find_starts([GIVEN], {WHERE: 50}, lambda: positions(30), patience_s=0.0)


def fault_with(remedy: Remedy) -> ClusterFault:
    found = ClusterFault("no", cluster="west", hint="Do this.")
    found.remedy = remedy
    return found


class TestWhatEndsARun:
    """Faults of tasks, of recoveries and of surveys, before and after anything was copied."""

    @pytest.fixture
    def state(self, tmp_path):
        flow = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
        return FlowState(flow, tmp_path, ControlFile(tmp_path))

    def test_a_final_fault_of_a_task_ends_a_run_that_never_copied(self, state):
        patience = RunPatience(state, Clock())
        fault = patience.task_faults[0] = fault_with(Remedy.FINAL)
        assert patience.why_given_up(0) == "west: no Do this."
        assert patience.refused is fault

    @pytest.mark.parametrize(
        "remedy", [Remedy.RETRY, Remedy.START_OVER, Remedy.OPERATOR, Remedy.DOUBTFUL]
    )
    def test_all_other_faults_let_a_task_begin_again(self, state, remedy):
        patience = RunPatience(state, Clock())
        patience.task_faults[0] = fault_with(remedy)
        assert (patience.why_given_up(0), patience.refused) == ("", None)

    def test_a_task_that_was_killed_begins_again(self, state):
        patience = RunPatience(state, Clock())
        assert (patience.why_given_up(0), patience.refused) == ("", None)

    def test_where_others_copy_a_final_fault_that_lasts_costs_the_partitions_of_its_task(
        self, state
    ):
        clock = Clock()
        patience = RunPatience(state, clock)
        state.stages[FIRST_RECORD] = 1
        said = []
        for clock.now in (0, LASTING_S):
            patience.task_faults[0] = fault_with(Remedy.FINAL)
            said.append(patience.why_given_up(0))
        assert (said, patience.refused) == (["", "west: no Do this."], None)

    def test_a_task_that_copied_meanwhile_is_begun_again(self, state):
        clock = Clock()
        patience = RunPatience(state, clock)
        state.stages[FIRST_RECORD] = 1
        for clock.now in (0, LASTING_S):
            patience.task_copied(0)
            patience.task_faults[0] = fault_with(Remedy.FINAL)
            assert patience.why_given_up(0) == ""

    @pytest.mark.parametrize(
        ("name", "remedy", "is_to_end", "ends"),
        [
            pytest.param("survey", Remedy.FINAL, False, True, id="a survey, final"),
            pytest.param("survey", Remedy.OPERATOR, True, False, id="a survey, for a person"),
            pytest.param("survey", Remedy.RETRY, True, False, id="a survey, retriable"),
            pytest.param(f"{RECOVERY}0", Remedy.FINAL, False, True, id="a recovery, final"),
            pytest.param(f"{RECOVERY}0", Remedy.OPERATOR, True, True, id="of a run that is to end"),
            pytest.param(f"{RECOVERY}0", Remedy.OPERATOR, False, False, id="of a run without end"),
            pytest.param(f"{RECOVERY}0", Remedy.RETRY, True, False, id="a recovery, retriable"),
        ],
    )
    def test_a_question_beside_the_tasks_ends_the_run_only_when_it_fails_for_long(
        self, state, name, remedy, is_to_end, ends
    ):
        clock = Clock()
        patience = RunPatience(state, clock)
        state.ends = {} if is_to_end else None
        patience.judge(name, fault_with(remedy))
        assert patience.refused is None
        clock.now = LASTING_S
        patience.judge(name, fault_with(remedy))
        assert (patience.refused is not None) == ends

    def test_an_answer_in_between_begins_the_wait_again(self, state):
        clock = Clock()
        patience = RunPatience(state, clock)
        for clock.now in (0, LASTING_S, 2 * LASTING_S):
            patience.judge("survey", fault_with(Remedy.FINAL))
            patience.judge("survey", None)
        assert patience.refused is None
