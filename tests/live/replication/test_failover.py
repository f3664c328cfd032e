"""Groups that move between two real clusters and back: nothing is skipped, repeats are as promised."""

import json
import threading
from dataclasses import replace

import pytest

from jobs.cli import main
from jobs.replication.failover.applying import OutcomeState, apply_group, undo_group
from jobs.replication.failover.kafka import (
    open_groups,
    read_last_checkpoints,
    read_translator,
)
from jobs.replication.failover.model import CheckState, Direction, FailoverRequest
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.failover.session import PlanRefused, ask_plan, confirm_plan
from tests.live.copiers import BatchCopying, copy_all, flow_between
from tests.live.groups import committed, consume, consuming, new_group
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.waiting import eventually

RECORDS = 400
# How old a plan may be: that is not what most of these tests are about.
LIMIT_S = 600


def asking(flow, group: str, *, back: bool = False, others=()) -> EvidenceRequest:
    flows = (flow, *others)
    routes = tuple(Route(one, read_translator(one, timeout_s=60), 0) for one in flows)
    direction = Direction.FAILBACK if back else Direction.FAILOVER
    return EvidenceRequest(FailoverRequest(direction, (group,)), routes, timeout_s=60)


def apply(asked: EvidenceRequest, group: str):
    """Plan and apply; return the group's plan and what it had before."""
    plan = ask_plan(asked)
    confirm_plan(plan, [group], asked, LIMIT_S)
    kept = {}
    with open_groups(asked.destination, timeout_s=60) as groups:
        outcome = apply_group(groups, plan.group(group), None, kept.update)
    assert outcome.state is OutcomeState.APPLIED, outcome.message
    return plan.group(group), kept


@pytest.fixture
def copied(east, west):
    """A topic with records, of which all are copied, and a group that has read some."""
    topic, group = new_topic(east, 2), new_group()
    flow = flow_between(east, west, topic)
    first = [r.value for p in (0, 1) for r in produce(east, topic, RECORDS // 2, p)]
    read = consume(east, group, topic, RECORDS // 2)
    copy_all(flow, east, topic)
    return flow, topic, group, first, read


def test_a_group_goes_on_at_the_target_and_skips_nothing(copied, east, west):
    flow, topic, group, values, read = copied
    planned, _ = apply(asking(flow, group), group)
    assert planned.verdict is not CheckState.FAILED
    again = consume(west, group, f"east.{topic}")
    assert set(read) | set(again) == set(values)
    assert planned.reread_most is not None
    assert len(again) - (len(values) - len(read)) <= planned.reread_most


def test_a_group_that_has_read_everything_repeats_nothing(copied, east, west):
    flow, topic, group, values, read = copied
    read = [*read, *consume(east, group, topic, len(values) - len(read))]
    planned, _ = apply(asking(flow, group), group)
    assert (planned.reread_most, {i.exact for i in planned.items}) == (0, {True})
    more = [r.value for r in produce(east, topic, 5)]
    copy_all(flow, east, topic)
    assert sorted(consume(west, group, f"east.{topic}", 5)) == sorted(more)


def test_undoing_brings_back_what_was_there_and_what_was_not(copied, west):
    flow, _, group, _, _ = copied
    planned, kept = apply(asking(flow, group), group)
    assert committed(west, group)
    written = {i.destination: replace(kept[i.destination], offset=i.target) for i in planned.items}
    with open_groups(west.connection, timeout_s=60) as groups:
        outcome = undo_group(groups, group, kept, written)
    assert (outcome.state, committed(west, group)) == (OutcomeState.UNDONE, {})


def test_a_group_that_is_active_there_is_refused(copied, west):
    flow, topic, group, _, _ = copied
    asked = asking(flow, group)
    plan = ask_plan(asked)
    with (
        open_groups(west.connection, timeout_s=60) as groups,
        consuming(west, group, f"east.{topic}") as member,
    ):
        eventually(lambda: member.consume(1, 0.5) and member.assignment(), 60)
        with pytest.raises(PlanRefused, match="is active on west"):
            confirm_plan(plan, [group], asked, LIMIT_S)
        outcome = apply_group(groups, plan.group(group), None, lambda _: None)
    assert (outcome.state, committed(west, group)) == (OutcomeState.REFUSED, {})


def test_a_plan_that_no_longer_holds_is_refused(copied, east):
    flow, topic, group, _, _ = copied
    asked = asking(flow, group)
    plan = ask_plan(asked)
    consume(east, group, topic, 3)
    with pytest.raises(PlanRefused, match=r"has moved on|has committed on") as refusal:
        confirm_plan(plan, [group], asked, LIMIT_S)
    assert refusal.value.code == "evidence_changed"
    old = replace(plan, read_at_ms=plan.read_at_ms - 61_000)
    with pytest.raises(PlanRefused) as refusal:
        confirm_plan(old, [group], asked, 60)
    assert refusal.value.code == "plan_stale"


def test_a_group_comes_back_after_it_went_on_at_the_target(copied, east, west):
    flow, topic, group, values, read = copied
    apply(asking(flow, group), group)
    there = consume(west, group, f"east.{topic}", 60)
    planned, _ = apply(asking(flow, group, back=True), group)
    again = consume(east, group, topic)
    assert set(read) | set(there) | set(again) == set(values)
    missing = set(values) - set(read) - set(there)
    assert planned.reread_most is not None
    assert len(again) - len(missing) <= planned.reread_most


def test_records_that_a_flow_copied_are_not_called_records_of_the_target(copied, west):
    flow, topic, group, _, _ = copied
    consume(west, group, f"east.{topic}", 60)
    planned = ask_plan(asking(flow, group, back=True)).group(group)
    assert {(i.only_here, i.at_risk) for i in planned.items} == {(None, 0)}


def test_nor_are_those_that_it_copies_while_the_plan_is_made(copied, east, west):
    flow, topic, group, _, _ = copied
    consume(west, group, f"east.{topic}", 60)
    stop = threading.Event()

    def write_on() -> None:
        while not stop.is_set():
            produce(east, topic, 20)

    writer = threading.Thread(target=write_on)
    with BatchCopying(flow):
        writer.start()
        try:
            plans = [ask_plan(asking(flow, group, back=True)).group(group) for _ in range(8)]
        finally:
            stop.set()
            writer.join()
    assert [i.only_here for plan in plans for i in plan.items if i.only_here] == []


def test_records_that_exist_only_there_come_back_by_the_reverse_flow(copied, east, west):
    flow, _, group, _, _ = copied
    apply(asking(flow, group), group)
    new_topic_there = new_topic(west)
    written = [r.value for r in produce(west, new_topic_there, 30)]
    read = consume(west, group, new_topic_there, 10)
    alone = ask_plan(asking(flow, group, back=True)).group(group)
    local = next(i for i in alone.items if i.origin.topic == new_topic_there)
    assert (local.target, local.only_here) == (None, (0, 30))
    reverse = flow_between(west, east, new_topic_there)
    copy_all(reverse, west, new_topic_there)
    apply(asking(flow, group, back=True, others=(reverse,)), group)
    again = consume(east, group, f"west.{new_topic_there}")
    assert set(read) | set(again) == set(written)


def test_from_a_shell_it_is_planned_applied_verified_and_undone(
    copied, west, tmp_path, capsys, monkeypatch
):
    flow, _, group, _, _ = copied
    monkeypatch.setenv("CROSSLOG_HOME", str(tmp_path / "home"))
    file, saved, report = (tmp_path / n for n in ("flow.yaml", "before.json", "report.json"))
    file.write_text(json.dumps(flow.to_mapping()))
    common = ["failover", str(file), "--group", group, "--json"]
    assert main(common) == 0
    assert committed(west, group) == {}
    assert main([*common, "--rehearse"]) == 0
    assert committed(west, group) == {}
    capsys.readouterr()
    assert main([*common, "--apply", "--save", str(saved), "--report", str(report)]) == 0
    told = json.loads(capsys.readouterr().out)
    wanted = {
        f"{i['to_topic']}-{i['partition']}": i["target"] for i in told["plan"]["groups"][0]["items"]
    }
    assert committed(west, group) == wanted
    assert main(["verify-report", str(report)]) == 0
    assert main(["failover", str(file), "--undo", str(saved)]) == 0
    assert committed(west, group) == {}


def test_a_source_without_checkpoints_knows_nothing_of_its_groups(copied):
    flow, _, group, _, _ = copied
    assert group not in read_last_checkpoints(flow).committed
