"""Groups whose committed offset is of no record that is there: beyond the end, or below the log start."""

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.group_reading import read_groups
from jobs.replication.failover.kafka import read_translator
from jobs.replication.failover.model import FailoverRequest
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.failover.session import ask_plan
from tests.live.copiers import copy_all, flow_between
from tests.live.groups import Rounds, commit, new_group, offsets_of
from tests.live.records import produce
from tests.live.topics import delete_before, new_topic


def plan_of(flow, group):
    route = Route(flow, read_translator(flow, timeout_s=60), 0)
    found = ask_plan(EvidenceRequest(FailoverRequest(groups=(group,)), (route,), timeout_s=60))
    return found.group(group)


def checks_of(plan):
    return {check.key: check.state.value for check in plan.checks}


def test_a_group_beyond_the_end_gets_no_offset_and_the_plan_says_why(east, west):
    """tests/conformance/reported/group_beyond_the_end"""
    topic, group = new_topic(east), new_group("beyond")
    flow = flow_between(east, west, topic, groups=(group,))
    produce(east, topic, 100)
    copy_all(flow, east, topic)
    source, remote = TopicPartition(topic, 0), TopicPartition(f"east.{topic}", 0)
    commit(east, group, {source: 5_000})
    with Rounds(flow) as rounds:
        report = rounds.run()
    assert (report.told, report.without) == (0, {"beyond_source": 1})
    assert "5,000" in report.findings[0]
    assert offsets_of(west, group) == {}
    planned = plan_of(flow, group)
    assert checks_of(planned)["beyond_end"] == "failed"
    assert (planned.reread_most, planned.to_be_set) == (0, ())
    commit(west, group, {remote: 7_000})
    with (
        ClusterClient(flow.source, timeout_s=60) as here,
        ClusterClient(flow.target, timeout_s=60) as there,
    ):
        (seen,) = read_groups(here, there, flow, [group])
    assert (seen.is_beyond_end, seen.is_beyond_target_end) == (True, True)
    assert checks_of(plan_of(flow, group))["beyond_end_there"] == "warning"


def test_where_no_record_is_left_a_group_below_the_log_start_is_as_certain_as_at_it(east, west):
    """tests/conformance/reported/group_below_the_log_start"""
    topic, groups = new_topic(east), {100: new_group("emptied"), 20: new_group("before")}
    produce(east, topic, 100)
    delete_before(east, topic, 0, 100)
    flow = flow_between(east, west, topic, groups=tuple(groups.values()))
    copy_all(flow, east, topic)
    for offset, group in groups.items():
        commit(east, group, {TopicPartition(topic, 0): offset})
        (item,) = plan_of(flow, group).items
        assert (item.target, item.exact, item.reread_most) == (0, True, 0), offset
