"""Several flows in one engine while a slot, the engine or a source breaks: others copy, nothing is lost."""

import pytest

from jobs.spark import contract
from tests.live.spark.hosted import (
    ENDS_WITHIN_S,
    HostedFlow,
    engine_progress,
    hosted,
    kill_engine,
    kill_slot,
    names_in,
    written,
)
from tests.live.spark.runs import STARTS_WITHIN_S
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def runs(tmp_path):
    return (tmp_path / "runs").resolve()


def test_a_slot_that_is_killed_while_five_flows_copy_loses_and_doubles_nothing(east, west, runs):
    flows = [HostedFlow(east, west, runs) for _ in range(5)]
    with hosted(flows):
        with written(flows):
            for one in flows:
                one.wait_for_ends()
            assert len({one.engine for one in flows}) == 1
            eventually(lambda: flows[0].slots, ENDS_WITHIN_S)
            kill_slot(flows[0].slots[0])
            engine = flows[0].engine
            eventually(lambda: engine_progress(engine)["restarts"] == 1, ENDS_WITHIN_S)
            for one in flows:
                one.wait_for_ends()
        for one in flows:
            one.wait_for_ends()
            assert one.is_alive
            one.stop()
    for one in flows:
        one.assert_equal()


def test_a_source_that_hangs_does_not_hold_up_the_flows_of_other_sources(
    small_lab, east, west, runs
):
    lab = small_lab("hung")
    hung = HostedFlow(lab.cluster("hung"), west, runs)
    others = [HostedFlow(east, west, runs) for _ in range(4)]
    with hosted([hung, *others]):
        with written([hung]):
            hung.wait_for_ends()
        with written(others):
            for one in others:
                one.wait_for_ends()
            lab.node("hung-1").pause()
            hung.wait_for_states({0: "retrying", 1: "retrying"}, within_s=STARTS_WITHIN_S)
            for one in others:
                one.wait_for_ends()
            states = {row["state"] for one in others for row in one.rows().values()}
            assert states <= {"copying", "caught_up"}
            lab.node("hung-1").resume()
        with written([hung]):
            hung.wait_for_ends()
        hung.wait_for_ends()
        assert all(one.is_alive for one in [hung, *others])
    hung.assert_equal()


def test_an_engine_that_is_killed_while_it_deals_a_flow_leaves_runs_that_can_be_started_again(
    east, west, runs
):
    first, second = (HostedFlow(east, west, runs) for _ in range(2))
    with hosted([first]):
        with written([first, second]):
            first.wait_for_ends()
            engine = first.engine
            second.start()
            eventually(lambda: second.flow.name in names_in(engine), STARTS_WITHIN_S)
            kill_engine(engine)
            for one in (first, second):
                assert not one.is_alive
                assert contract.read_result(one.folder) is None
                one.start()
            assert first.engine == second.engine
            assert first.engine != engine
            for one in (first, second):
                one.wait_for_ends()
        for one in (first, second):
            one.wait_for_ends()
            one.stop()
    for one in (first, second):
        one.assert_equal()
