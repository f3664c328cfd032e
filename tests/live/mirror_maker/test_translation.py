"""What crosslog proves about offsets holds for what a real MirrorMaker 2 copied, record by record."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from console.findings.models import Finding
from console.replication.findings.collect import look_at_flow
from console.replication.findings.models import FlowWatch
from console.replication.measurement.collect import collect_flow
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.copy.positions import Positions, read_positions
from jobs.replication.findings.codes import Code
from jobs.replication.findings.connect_topics import SOURCE_CONNECTOR, read_configs, read_statuses
from jobs.replication.findings.group_failures import find_groups_ahead
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.reading import read_wire
from jobs.replication.findings.silent_failures import evaluate_snapshot
from jobs.replication.findings.snapshot import FlowSnapshot, GroupSnapshot, PartitionSnapshot
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.analyses.offsets.bulk.answering import Asking, answer
from jobs.spark.analyses.offsets.bulk.question_files import parts_of
from jobs.spark.analyses.offsets.syncs import open_syncs
from jobs.spark.analyses.task import AnalysisTask
from tests.console.making import make_cluster, make_flow
from tests.console.replication.finding import make_group_offset
from tests.live.groups import commit
from tests.live.mirror_maker.mirrored import (
    WITHIN_S,
    Pair,
    end_of,
    places,
    produce_identified,
    produce_transactions,
    syncs_of,
    wait_for_mirror,
)
from tests.live.topics import make_topic
from tests.waiting import eventually, unchanged

pytestmark = pytest.mark.timeout(900)

PLAIN, PAID, CLEANED = "t.plain", "t.paid", "t.cleaned"
TOPICS = (PLAIN, PAID, CLEANED)
# How far a group goes back: more records than an offset sync is behind the next, by far.
FAR = 1_400
SETTINGS = {
    "east->west.topics": r"t\..*",
    "east->west.offset.lag.max": "20",
    "east->west.emit.checkpoints.interval.seconds": "1",
    "east->west.sync.group.offsets.enabled": "true",
    "east->west.sync.group.offsets.interval.seconds": "1",
    "east->west.sync.topic.configs.enabled": "false",
    "east->west.config.properties.exclude": ".*",
    "refresh.topics.interval.seconds": "5",
    "refresh.groups.interval.seconds": "2",
    "west.offset.flush.interval.ms": "1000",
    "east.consumer.isolation.level": "read_committed",
    "east->west.consumer.isolation.level": "read_committed",
}


@pytest.fixture(scope="module")
def pair(kafka, tmp_path_factory) -> Iterator[Pair]:
    """Records from before and after MirrorMaker 2 began, with gaps by markers and by the cleaner."""
    quick = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "0"}

    def plans(base: int) -> list[ClusterPlan]:
        return [
            ClusterPlan("east", 1, base, overrides=quick),
            ClusterPlan("west", 1, base + 100),
        ]

    folder = tmp_path_factory.mktemp("mirrored")
    lab = Lab(folder, plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    servers = [lab.cluster(alias).bootstrap_servers for alias in ("east", "west")]
    properties = mirror_properties(("east", servers[0]), ("west", servers[1]), SETTINGS)
    mirror = MirrorMaker(folder / "mm2", kafka, properties, heap="256m")
    started = Pair(lab, mirror)
    try:
        _fill(started)
        yield started
    finally:
        mirror.kill()
        lab.kill()


def _fill(pair: Pair) -> None:
    cleaned = {
        "cleanup_policy": "compact",
        "segment_ms": "100",
        "min_cleanable_dirty_ratio": "0.01",
    }
    make_topic(pair.east, PLAIN)
    make_topic(pair.east, PAID)
    make_topic(pair.east, CLEANED, **cleaned)
    produce_identified(pair.east, PLAIN, 1500)
    produce_transactions(pair.east, PAID, 60)
    end = produce_identified(pair.east, CLEANED, 800)

    # A segment is closed by the next record after its time; only closed ones are cleaned.
    def has_gaps() -> bool:
        nonlocal end
        end = produce_identified(pair.east, CLEANED, 1, first=end)
        return len(places(pair.east, CLEANED)) < end - 300

    eventually(has_gaps, WITHIN_S)
    pair.mirror.start()
    eventually(lambda: _copied(pair), WITHIN_S)
    produce_identified(pair.east, PLAIN, 700, first=1500)
    produce_transactions(pair.east, PAID, 30, first=end_of(pair.east, PAID))
    produce_identified(pair.east, CLEANED, 200, first=end)
    eventually(lambda: _copied(pair), WITHIN_S)
    # On a busy machine its first syncs are dropped: behind the one that came there are as many records.
    eventually(lambda: TopicPartition(PLAIN, 0) in pair.syncs().partitions, WITHIN_S)
    late = pair.early(PLAIN) + FAR + 100 - end_of(pair.east, PLAIN)
    if late > 0:
        produce_identified(pair.east, PLAIN, late, first=end_of(pair.east, PLAIN))
        eventually(lambda: _copied(pair), WITHIN_S)
    # MirrorMaker 2's own heartbeats are copied too, and have syncs among these.
    wanted = {TopicPartition(topic, 0) for topic in TOPICS}
    eventually(lambda: wanted <= set(pair.syncs().partitions), WITHIN_S)
    unchanged(lambda: [len(syncs_of(pair.east, topic)) for topic in TOPICS], 3, WITHIN_S)


def _copied(pair: Pair) -> bool:
    """Whether every topic's newest committed record has arrived; the cleaner may take older ones away."""
    pair.mirror.check()
    try:
        return all(
            places(pair.west, f"east.{topic}")[-1][0] == places(pair.east, topic)[-1][0]
            for topic in TOPICS
        )
    except (AssertionError, IndexError):
        return False


@pytest.mark.parametrize("topic", TOPICS)
def test_no_certificate_lies_past_the_truth_or_ends_before_it(pair, topic):
    truth, translator = pair.truth(topic), pair.syncs()
    where, end = TopicPartition(topic, 0), end_of(pair.east, topic)
    wrong = []
    exact = 0
    for upstream in range(end + 1):
        found, e = translator.translate(where, upstream), truth.of(upstream)
        assert found is not None
        exact += found.exact
        if found.lo > e or (found.hi is not None and found.hi < e):
            wrong.append((upstream, e, found))
        assert not found.exact or found.lo == e, (upstream, e, found)
    assert wrong == []
    assert exact > 0


def test_its_topic_of_offset_syncs_is_translated_by_without_a_flow(pair, tmp_path):
    (tmp_path / "list").write_text(
        "\n".join(f"{PLAIN},0,{at}" for at in range(end_of(pair.east, PLAIN)))
    )
    task = AnalysisTask(
        None,
        tmp_path,
        tmp_path / "tables",
        tmp_path,
        {"cluster": {"connection": pair.east.connection.to_mapping()}},
    )
    given = {"cluster": "east", "topic": "mm2-offset-syncs.west.internal", "offsets": "list"}
    arguments = checked_arguments(ANALYSES["translate"], given)
    (part,) = parts_of(tmp_path / "list")
    (block,) = part.read()
    found, _ = answer(Asking(open_syncs(task, arguments).folder), block.questions)
    truth, store = pair.truth(PLAIN), pair.syncs()
    for row in found.to_pylist():
        true = truth.of(row["offset"])
        assert row["lo"] <= true <= (true if row["hi"] is None else row["hi"]), row
        assert row["mm2"] == store.mm2(TopicPartition(PLAIN, 0), row["offset"])


@pytest.mark.parametrize("topic", TOPICS)
def test_every_offset_sync_names_the_same_record_on_both_sides(pair, topic):
    truth = dict(pair.truth(topic).pairs)
    syncs = syncs_of(pair.east, topic)
    assert len(syncs) > 5
    assert [(u, d) for u, d in syncs if truth.get(u) != d] == []


def test_aborted_records_were_not_copied(pair):
    copied = {here for here, _ in places(pair.west, f"east.{PAID}")}
    assert copied == {here for here, _ in places(pair.east, PAID)}
    assert len(copied) == 90 * 7 * 2 // 3


@pytest.mark.parametrize(
    ("topic", "offset"),
    [
        pytest.param(PLAIN, 0, id="plain, early"),
        pytest.param(PLAIN, 1499, id="plain, in the middle"),
        pytest.param(PLAIN, 2200, id="plain, at the end"),
        pytest.param(PAID, 211, id="transactional"),
        pytest.param(CLEANED, 900, id="compacted"),
    ],
)
def test_checkpoints_are_what_the_rebuilt_store_says_and_never_past_the_truth(pair, topic, offset):
    where = TopicPartition(topic, 0)
    offset = max(offset, pair.early(topic))
    group = f"g-{topic}-{offset}"
    commit(pair.east, group, {TopicPartition(topic, 0): offset})
    wait_for_mirror(pair.mirror, lambda: pair.checkpoint(group, topic) is not None)
    upstream, downstream = pair.checkpoint(group, topic) or (0, 0)
    assert upstream == offset
    assert downstream == pair.syncs().mm2(where, offset)
    assert downstream <= pair.truth(topic).of(offset)


def test_a_group_before_the_first_sync_has_no_checkpoint_and_a_certificate_all_the_same(pair):
    where, early = TopicPartition(CLEANED, 0), 5
    assert early < pair.early(CLEANED)
    commit(pair.east, "before", {TopicPartition(CLEANED, 0): early})
    commit(pair.east, "before", {TopicPartition(PLAIN, 0): max(1499, pair.early(PLAIN))})
    wait_for_mirror(pair.mirror, lambda: pair.checkpoint("before", PLAIN) is not None)
    assert pair.checkpoint("before", CLEANED) is None
    syncs = pair.syncs()
    assert syncs.mm2(where, early) == -1
    assert syncs.translate(where, early).lo <= pair.truth(CLEANED).of(early)


def test_a_group_that_went_back_is_found_ahead_on_the_target(pair):
    where = TopicPartition(PLAIN, 0)
    back = _rewind(pair, "rewound")
    group = unchanged(lambda: pair.group("rewound"), 3, WITHIN_S)
    proved = pair.syncs().translate(where, back)
    assert proved is not None
    assert proved.hi is not None
    for known in (None, proved.hi):
        picture = _picture(pair, groups=[_with_proof(group, known)])
        (found,) = find_groups_ahead(picture)
        assert (found.code, found.subject) == (Code.GROUP_AHEAD, "rewound")
    skipped = found.evidence["offsets_skipped_at_least"]
    assert skipped == group.target_committed - proved.hi
    assert skipped >= 1000
    assert pair.truth(PLAIN).of(back) <= proved.hi < group.target_committed


def test_a_group_that_goes_on_is_not_ahead(pair):
    commit(pair.east, "steady", {TopicPartition(PLAIN, 0): max(1000, pair.early(PLAIN))})
    wait_for_mirror(pair.mirror, lambda: _target_offset(pair, "steady") is not None)
    commit(pair.east, "steady", {TopicPartition(PLAIN, 0): 1800})
    group = pair.group("steady")
    proof = pair.syncs().translate(TopicPartition(PLAIN, 0), 1800)
    assert list(find_groups_ahead(_picture(pair, groups=[_with_proof(group, proof.hi)]))) == []


def test_a_healthy_mirror_maker_has_no_findings_on_the_wire(pair):
    partitions = [TopicPartition(topic, 0) for topic in TOPICS]
    eventually(lambda: _positions(pair).keys() >= set(partitions), WITHIN_S)
    with (
        ClusterClient(pair.east.connection) as east,
        ClusterClient(pair.west.connection) as west,
    ):
        wire = read_wire(east, west, pair.flow, partitions, {}, budget_s=60)
    positions = _positions(pair)
    assert wire.faults == {}
    assert {str(key): said.status.state for key, said in wire.statuses.items()}[
        f"{SOURCE_CONNECTOR} task 0"
    ] == "RUNNING"
    assert wire.configs.setting(SOURCE_CONNECTOR, "topics") == r"t\..*"
    assert wire.heartbeats.arrived_at is not None
    assert wire.heartbeats.emitted_at is not None
    assert set(wire.tail.newest) >= set(partitions)
    picture = _picture(
        pair,
        statuses=wire.statuses,
        heartbeats=wire.heartbeats,
        heartbeats_wanted=True,
        syncs=wire.syncs,
        wrapped=wire.wrapped,
        checkpoints=wire.checkpoints,
        copied_back=wire.copied_back,
        returned=wire.returned,
        partitions=[
            PartitionSnapshot(
                where,
                positions[where],
                0,
                end_of(pair.east, where.topic),
                remote_end=wire.remote_ends[where],
                last_sync=wire.tail.newest[where],
            )
            for where in partitions
        ],
    )
    assert evaluate_snapshot(picture, FlowMemory()).findings == ()


def test_the_next_look_goes_on_where_the_last_one_ended(pair):
    with (
        ClusterClient(pair.east.connection) as east,
        ClusterClient(pair.west.connection) as west,
    ):
        first = read_wire(east, west, pair.flow, [], {}, budget_s=60).tail
        again = read_wire(east, west, pair.flow, [], first.to_mapping(), budget_s=60).tail
    assert again.next_offset >= first.next_offset > 0
    assert again.newest.keys() == first.newest.keys()
    assert all(again.newest[where] >= sync for where, sync in first.newest.items())


@pytest.mark.django_db
def test_the_console_looks_at_it_and_tells_what_differs_and_nothing_else(pair):
    for cluster in (pair.east, pair.west):
        make_cluster(cluster.plan.alias, bootstrap_servers=cluster.bootstrap_servers)
    flow = make_flow(
        copied_by="mirror_maker", offset_syncs="source", topics=[r"t\..*"], groups=[".*"]
    )
    back = _rewind(pair, "rewound too")
    make_group_offset(flow.source, "rewound too", PLAIN, back)
    make_group_offset(
        flow.target, "rewound too", f"east.{PLAIN}", _target_offset(pair, "rewound too")
    )
    now = datetime.now(UTC)
    assert collect_flow(flow.pk)
    for minute in range(2):
        at = now + timedelta(minutes=minute)
        assert look_at_flow(flow.pk, lambda at=at: at)
    assert FlowWatch.objects.get(flow=flow).not_checked == {}
    found = {(row.code, row.subject) for row in Finding.objects.filter(closed_at=None)}
    # Settings of topics are not synced here, and only the cleaned topic has some.
    assert found == {("config_differs", CLEANED), ("group_ahead", "rewound too")}


def test_a_killed_mirror_maker_still_says_running_and_is_found_not_moving(pair):
    pair.mirror.kill()
    position = _positions(pair)[TopicPartition(PLAIN, 0)]
    with ClusterClient(pair.west.connection) as west:
        statuses = read_statuses(west, "east")
        configs = read_configs(west, "east")
    assert statuses.refused == configs.refused == 0
    end = produce_identified(pair.east, PLAIN, 50, first=end_of(pair.east, PLAIN))
    memory, begun = FlowMemory(), datetime.now(UTC)
    findings = ()
    for minute in range(7):
        row = PartitionSnapshot(TopicPartition(PLAIN, 0), position, 0, end + minute)
        now = begun + timedelta(minutes=minute)
        picture = _picture(pair, at=now, partitions=[row], statuses=statuses.said)
        judgement = evaluate_snapshot(picture, memory)
        findings, memory = judgement.findings, judgement.memory
    (found,) = findings
    assert found.code is Code.NOT_MOVING
    assert "say RUNNING" in found.sentence
    assert found.evidence["records_written_since"] == 6


def _rewind(pair: Pair, group: str) -> int:
    """Let a group read 2,000 records and more, have it synced, and send it far back; returns where to."""
    back = pair.early(PLAIN)
    commit(pair.east, group, {TopicPartition(PLAIN, 0): max(2000, back + FAR)})
    wait_for_mirror(pair.mirror, lambda: _target_offset(pair, group) is not None)
    commit(pair.east, group, {TopicPartition(PLAIN, 0): back})
    wait_for_mirror(pair.mirror, lambda: (pair.checkpoint(group, PLAIN) or (0, 0))[0] == back)
    return back


def _positions(pair: Pair) -> Positions:
    with ClusterClient(pair.west.connection) as west:
        return read_positions(west, "east")


def _picture(pair, **parts) -> FlowSnapshot:
    values = {"at": datetime.fromtimestamp(time.time(), UTC), "is_watched": True, **parts}
    return FlowSnapshot("mirrored", "east", "west", **values)


def _with_proof(group: GroupSnapshot, at_most: int | None) -> GroupSnapshot:
    return replace(group, target_at_most=at_most)


def _target_offset(pair: Pair, group: str) -> int | None:
    found = pair.group(group)
    return found.target_committed if found else None
