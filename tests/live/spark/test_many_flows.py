"""Several flows in one engine, which come, change and go, and whose engine is rolled."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from jobs.spark import submit
from jobs.spark.contract import Outcome
from jobs.spark.engine import door
from tests.live.records import produce
from tests.live.spark.hosted import (
    ENDS_WITHIN_S,
    HostedFlow,
    engine_progress,
    hosted,
    names_in,
    written,
)
from tests.live.spark.runs import STARTS_WITHIN_S
from tests.live.topics import new_topic
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def runs(tmp_path):
    return (tmp_path / "runs").resolve()


def test_a_flow_is_added_changed_paused_and_stopped_while_another_one_copies(east, west, runs):
    first, second = HostedFlow(east, west, runs), HostedFlow(east, west, runs)
    more = new_topic(east, 2)
    with hosted([first]), written([first]):
        first.wait_for_ends()
        with second:
            produce(east, second.topic, 100)
            second.wait_for_positions({0: 100}, second.topic)
            assert second.engine == first.engine
            second.ask(settings={"topics": [second.topic, more]})
            produce(east, more, 50, partition=1)
            second.wait_for_positions({1: 50}, more)
            second.ask(settings={"topics": [second.topic, more]}, paused=[more])
            second.wait_for_states({0: "paused", 1: "paused"}, more)
            assert second.stop().outcome == Outcome.STOPPED
        first.wait_for_ends()
        assert first.is_alive
        assert engine_progress(first.engine)["restarts"] == 0
        eventually(lambda: names_in(first.engine) == {first.flow.name}, ENDS_WITHIN_S)
    second.assert_equal()


def test_a_flow_with_an_engine_of_its_own_is_an_application_beside_the_engine(east, west, runs):
    shared, own = HostedFlow(east, west, runs), HostedFlow(east, west, runs, engine="own")
    with hosted([shared, own]), written([shared, own]):
        shared.wait_for_ends()
        own.wait_for_ends()
        assert own.progress["engine"]["name"] == ""
        assert shared.progress["engine"]["name"] == shared.engine.name
        assert names_in(shared.engine) == {shared.flow.name}
        assert not set(own.pids()) & set(shared.pids())


def test_an_engine_that_is_rolled_hands_its_flows_over_while_records_are_written(east, west, runs):
    flows = [HostedFlow(east, west, runs) for _ in range(2)]
    counted: dict[str, list[int]] = {one.flow.name: [] for one in flows}
    with hosted(flows):
        with written(flows):
            for one in flows:
                one.wait_for_ends()
            old = flows[0].engine
            new = door.roll(runs, old)
            assert door.roll(runs, old) == new

            def are_moved() -> bool:
                for one in flows:
                    assert one.is_alive
                    counted[one.flow.name].append(one.records)
                return all(one.engine == new for one in flows)

            eventually(are_moved, STARTS_WITHIN_S)
            for one in flows:
                one.wait_for_ends()
                counted[one.flow.name].append(one.records)
            eventually(lambda: not submit.is_alive(old), ENDS_WITHIN_S)
        for one in flows:
            one.wait_for_ends()
            assert one.stop().outcome == Outcome.STOPPED
    assert all(seen == sorted(seen) for seen in counted.values()), counted
    for one in flows:
        one.assert_equal()


def test_the_command_copies_several_flows_until_all_have_caught_up(east, west, tmp_path):
    flows = [HostedFlow(east, west, tmp_path) for _ in range(2)]
    paths = []
    for one in flows:
        produce(east, one.topic, 500)
        paths.append(tmp_path / f"{one.topic}.yaml")
        paths[-1].write_text(yaml.safe_dump(one.flow.to_mapping()))
    command = [sys.executable, "-m", "jobs", "replicate", *map(str, paths), "--until-caught-up"]
    done = subprocess.run(
        [*command, "--json", "--run-dir", str(tmp_path / "runs")],
        cwd=ROOT, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    ended = {row["flow"]: row["records"] for row in rows if "outcome" in row}
    assert (done.returncode, ended) == (0, {one.flow.name: 500 for one in flows}), done.stderr
    assert not [one for one in (tmp_path / "runs").glob("flows-*") if submit.is_alive(one)]
    for one in flows:
        one.assert_equal()
