"""All rules over one snapshot: what is judged, what is remembered."""

from jobs.replication.findings.codes import Code
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.snapshot import CheckpointsSnapshot, GroupSnapshot, TopicSnapshot
from tests.jobs.replication.pictures import MINUTE, NOW, look, partition, picture


def test_what_was_not_asked_is_not_judged():
    assert look(picture()).judged == {Code.SAME_CLUSTER, Code.FLOW_SET_APART}


def test_every_rule_is_judged_when_everything_is_known():
    everything = picture(
        topics=[], partitions=[], statuses={}, heartbeats=None, groups=[], copied_back={}, returned=[],
    )  # fmt: skip
    judged = look(everything).judged
    assert {Code.NOT_MOVING, Code.LOOP, Code.GROUP_AHEAD, Code.TASK_FAILED} <= judged
    assert Code.HEARTBEATS_STALE not in judged


def test_loops_are_judged_only_when_both_their_signs_are_known():
    assert Code.LOOP not in look(picture(copied_back={})).judged


def test_the_memory_survives_being_stored():
    pictures = [
        picture(
            NOW + n * MINUTE,
            partitions=[partition(0, 100, 110), partition(1, 100, 102, data_end=100)],
            topics=[TopicSnapshot("orders", "east.orders", f"id-{n}", "y")],
            checkpoints=CheckpointsSnapshot("c", newest_at=NOW),
            groups=[GroupSnapshot("g", partition().where, 100 + n)],
        )
        for n in range(2)
    ]
    memory = look(*pictures).memory
    assert FlowMemory.from_mapping(memory.to_mapping()) == memory
    assert memory.behind.keys() == {partition(0).where}
    assert memory.source_ids["orders"] == ("id-1", "id-0", NOW + MINUTE)
    assert memory.commits.gone_on_since == NOW + MINUTE
    assert FlowMemory.from_mapping({}) == FlowMemory()
