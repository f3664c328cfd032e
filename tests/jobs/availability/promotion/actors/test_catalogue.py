"""Which actors a cluster can use, what they cost, and what a person would type."""

from dataclasses import replace

import pytest

from jobs.availability.promotion.actors.catalogue import catalogue, usability
from jobs.availability.promotion.actors.facts import ActorFacts
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import SESSION_TIMEOUT_MS, detection_span, seconds
from jobs.availability.runbooks.kafka_commands import KafkaTools
from tests.jobs.availability.partitions import RACKS, partition

ALL = ActorFacts(
    racks=RACKS | {7: "west", 8: "north"},
    standbys=frozenset({5, 6}),
    spares=(7, 8),
    held_back={("orders", 0): (6,)},
    has_quorum=True,
    can_reach_controllers=True,
    can_cluster_action=True,
    can_alter_configs=True,
    can_alter_cluster=True,
)
TOOLS = KafkaTools("broker:9092")
STANDBY, HELD_BACK, SPARE, RELAX = ActorKind


def test_a_cluster_that_has_everything_can_use_all_four():
    found = catalogue(ALL, partition((1, 2)), TOOLS)
    assert [one.kind for one in found] == [STANDBY, HELD_BACK, SPARE, RELAX]
    assert all(one.is_usable and not one.unknown for one in found)


PROBLEMS = [
    pytest.param(STANDBY, {"standbys": frozenset()}, "standbys", id="no standby"),
    pytest.param(STANDBY, {"standbys": frozenset({9})}, "partition", id="no replica on a standby"),
    pytest.param(STANDBY, {"can_cluster_action": False}, "can_cluster_action", id="no right"),
    pytest.param(STANDBY, {"can_reach_controllers": False}, "can_reach_controllers", id="no door"),
    pytest.param(HELD_BACK, {"held_back": {}}, "held_back", id="nothing held back"),
    pytest.param(HELD_BACK, {"held_back": {("t", 0): (6,)}}, "partition", id="not held back here"),
    pytest.param(HELD_BACK, {"can_alter_configs": False}, "can_alter_configs", id="no configs"),
    pytest.param(SPARE, {"spares": ()}, "spares", id="no spare"),
    pytest.param(SPARE, {"spares": (1, 2)}, "spares", id="spares hold it already"),
    pytest.param(SPARE, {"can_alter_cluster": False}, "can_alter_cluster", id="no reassignment"),
    pytest.param(RELAX, {"can_alter_configs": False}, "can_alter_configs", id="no topic configs"),
]


@pytest.mark.parametrize(("kind", "change", "field"), PROBLEMS)
def test_what_an_actor_lacks_is_told_at_its_field(kind, change, field):
    found = usability(kind, replace(ALL, **change), partition((1, 2)))
    assert list(found.problems) == [field]
    assert not found.is_usable


@pytest.mark.parametrize("kind", ActorKind)
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"promotes_itself": True}, "promotes_itself"),
        ({"is_read_only": True}, "is_read_only"),
        ({"has_quorum": False}, "has_quorum"),
    ],
    ids=["brokers promote", "read-only", "no quorum"],
)
def test_nobody_acts_there(kind, change, field):
    assert field in usability(kind, replace(ALL, **change), partition((1, 2))).problems


@pytest.mark.parametrize("kind", ActorKind)
def test_without_a_leader_no_actor_helps(kind):
    leaderless = replace(partition(()), leader=None)
    assert "unclean" in usability(kind, ALL, leaderless).problems["partition"]


def test_min_insync_replicas_of_one_cannot_be_relaxed():
    found = usability(RELAX, ALL, partition((1, 2), min_insync_replicas=1))
    assert "is 1 already" in found.problems["partition"]


def test_what_nobody_asked_is_unknown_and_no_problem():
    found = usability(STANDBY, ActorFacts(standbys=frozenset({5})))
    assert found.is_usable
    assert set(found.unknown) == {"can_reach_controllers", "can_cluster_action", "has_quorum"}


MEASURED = [
    pytest.param(STANDBY, (100, 140), 9_100, (7, 35), id="fenced standby"),
    pytest.param(HELD_BACK, (100, 800), 9_400, None, id="held-back replica"),
    pytest.param(RELAX, (0, 30_000), 30_000, None, id="relaxed"),
]


@pytest.mark.parametrize(("kind", "act", "outage", "revert"), MEASURED)
def test_times_are_the_measured_ones_with_their_source(kind, act, outage, revert):
    found = usability(kind, ALL)
    assert (found.act.least_ms, found.act.most_ms) == act
    assert found.outage.most_ms == outage
    assert revert == (found.revert and (found.revert.least_ms, found.revert.most_ms))
    assert all("4.3.1" in span.source for span in (found.act, found.outage))


def test_a_copy_has_no_time_without_its_size():
    assert usability(SPARE, ALL).act is None
    known = replace(ALL, partition_bytes=1_000_000_000)
    assert "other networks differ" in usability(SPARE, known).act.source
    assert usability(SPARE, replace(known, bytes_per_s=1e6)).act.most_ms == 1_000_000


def test_the_held_back_replica_has_no_way_back():
    assert [one.is_revertible for one in catalogue(ALL)] == [True, False, True, True]


def test_the_stall_and_the_elr_are_told_for_what_relaxes():
    traps = " ".join(usability(RELAX, ALL).traps)
    assert "30 s" in traps
    assert "second connection" in traps
    assert "clears the ELR" in traps


def test_relaxing_sets_the_isr_there_is_ends_the_stall_and_is_set_back():
    found = usability(RELAX, ALL, partition((1, 2)), TOOLS)
    assert found.act_commands[1].endswith("--alter --add-config min.insync.replicas=2")
    assert "kafka-console-producer.sh" in found.act_commands[-1]
    assert found.revert_commands[0].endswith("--alter --add-config min.insync.replicas=3")


def test_a_spare_in_a_rack_without_an_in_sync_replica_is_taken_first():
    found = usability(SPARE, ALL, partition((1, 2)), TOOLS)
    assert found.brokers == (8, 7)
    assert '"replicas":[1,2,3,4,5,6,8]' in found.act_commands[0]
    assert '"replicas":[1,2,3,4,5,6]' in found.revert_commands[0]


def test_a_standby_is_promoted_by_crosslog_or_by_a_restart():
    found = usability(STANDBY, ALL, partition((1, 2, 5)), TOOLS)
    assert found.act_commands[0] == "# on the page Promotion of this cluster: promote broker 6"
    assert found.act_commands[-1] == "bin/kafka-server-start.sh -daemon config/server.properties"


def test_the_throttle_is_lifted_at_both_ends():
    found = usability(HELD_BACK, ALL, partition((1, 2)), TOOLS)
    assert "--entity-name 6 --alter --delete-config follower" in found.act_commands[0]
    assert "--entity-name 1 --alter --delete-config leader" in found.act_commands[1]


def test_an_entry_becomes_json():
    told = usability(STANDBY, ALL, partition((1, 2))).to_mapping()
    assert told["kind"] == "fenced_standby"
    assert told["act"]["most_ms"] == 140


def test_another_session_timeout_moves_the_detection():
    span = detection_span(SESSION_TIMEOUT_MS + 3_000)
    assert (span.least_ms, span.most_ms) == (11_800, 12_400)
    assert "moved by 3.0 s" in span.source


@pytest.mark.parametrize(
    ("ms", "words"),
    [(140, "0.14 s"), (9_400, "9.4 s"), (300_000, "5 min"), (10_800_000, "3 h")],
)
def test_times_in_words(ms, words):
    assert seconds(ms) == words
