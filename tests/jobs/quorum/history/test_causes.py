"""Why a partition changed: from the record, and from its neighbours of the same batch."""

from typing import Any

import pytest

from jobs.quorum.history.changes import BrokerChange, Cause, Election, PartitionChange
from jobs.quorum.history.partition_causes import cause_of_change
from jobs.quorum.image.partition_registration import PartitionRegistration, merge
from tests.jobs.quorum.log_records import (
    ORDERS,
    Log,
    Spec,
    change,
    changes_of,
    cluster,
    fence,
    no_op,
    partition,
    register,
    registration_change,
    topic,
    unfence,
    unregister,
    uuid,
)


def state(**fields: Any) -> PartitionRegistration:
    told = {
        "replicas": (1, 2, 3),
        "isr": (1, 2, 3),
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 9,
    }
    return PartitionRegistration(**(told | {"directories": ("a", "b", "c")} | fields))


REASSIGNING = {"replicas": (1, 2, 3, 4), "adding": (4,), "removing": (3,)}

ALONE: list[Any] = [
    pytest.param({}, {"isr": [1, 2]}, Cause.ISR_SHRINK, 3, id="a follower fell behind"),
    pytest.param({}, {"isr": [1]}, Cause.ISR_SHRINK, None, id="two fell behind: none is the one"),
    pytest.param(
        {"isr": (1, 2)}, {"isr": [1, 2, 3]}, Cause.ISR_EXPAND, 3, id="a follower caught up"
    ),
    pytest.param({"isr": (1, 2)}, {"isr": [1, 3]}, Cause.ISR_CHANGED, None, id="one out, one in"),
    pytest.param(
        {},
        {"isr": [1, 2], "leader": 1},
        Cause.ISR_SHRINK,
        3,
        id="shrink with a bump (before 3.6-IV0)",
    ),
    pytest.param(
        {"leader": 2},
        {"leader": 1},
        Cause.PREFERRED_ELECTION,
        None,
        id="the preferred replica leads again",
    ),
    pytest.param(
        {}, {"leader": 2}, Cause.LEADER_ELECTION, None, id="another in-sync replica leads"
    ),
    pytest.param(
        {"leader": -1, "isr": (1,)}, {"leader": 1}, Cause.LEADER_ELECTION, None, id="a leader again"
    ),
    pytest.param({}, {"leader": -1}, Cause.LEADER_LOST, None, id="no leader any more"),
    pytest.param(
        {}, {"leader": 1}, Cause.LEADER_EPOCH_BUMPED, None, id="the same leader, a new epoch"
    ),
    pytest.param(
        {"leader": -1, "isr": (), "elr": (3,)},
        {"leader": 3, "isr": [3], "eligibleLeaderReplicas": []},
        Cause.ELR_ELECTION,
        None,
        id="an eligible leader replica leads",
    ),
    pytest.param(
        {"leader": -1, "isr": (1,)},
        {"leader": 2, "isr": [2]},
        Cause.UNCLEAN_ELECTION,
        None,
        id="unclean: a leader from outside the ISR",
    ),
    pytest.param(
        {"leader": -1, "isr": (1,)},
        {"leader": 2, "isr": [2], "leaderRecoveryState": 1},
        Cause.UNCLEAN_ELECTION,
        None,
        id="unclean: recovering",
    ),
    pytest.param(
        {"recovery_state": 1, "isr": (1,)},
        {"leaderRecoveryState": 0},
        Cause.LEADER_RECOVERED,
        1,
        id="the leader recovered",
    ),
    pytest.param({}, {"eligibleLeaderReplicas": [2]}, Cause.ELR_CHANGED, None, id="ELR alone"),
    pytest.param(
        {}, {"directories": ["x", "b", "c"]}, Cause.DIRECTORIES_ASSIGNED, None, id="directories"
    ),
    pytest.param({}, {}, Cause.NOTHING, None, id="nothing"),
    pytest.param(
        {},
        {"replicas": [1, 2, 3, 4], "addingReplicas": [4], "removingReplicas": [3]},
        Cause.REASSIGNMENT_STARTED,
        None,
        id="a reassignment starts",
    ),
    pytest.param(
        REASSIGNING,
        {"replicas": [1, 2, 4], "isr": [1, 2, 4], "addingReplicas": [], "removingReplicas": []},
        Cause.REASSIGNMENT_COMPLETED,
        None,
        id="a reassignment is complete",
    ),
    pytest.param(
        REASSIGNING,
        {"replicas": [1, 2, 3], "addingReplicas": [], "removingReplicas": []},
        Cause.REASSIGNMENT_CANCELLED,
        None,
        id="a reassignment is cancelled",
    ),
    pytest.param(
        REASSIGNING,
        {"replicas": [1, 2, 3, 5], "addingReplicas": [5]},
        Cause.REASSIGNMENT_CHANGED,
        None,
        id="a reassignment gets another target",
    ),
    pytest.param(
        REASSIGNING,
        {"isr": [1, 2]},
        Cause.ISR_SHRINK,
        3,
        id="a shrink while a reassignment is under way",
    ),
    pytest.param(
        {}, {"replicas": [3, 2, 1]}, Cause.REASSIGNMENT_COMPLETED, None, id="only a new order"
    ),
]


@pytest.mark.parametrize(("before", "record", "cause", "broker"), ALONE)
def test_a_record_shows_its_own_cause(
    before: dict[str, Any], record: dict[str, Any], cause: Cause, broker: int | None
) -> None:
    old = state(**before)
    judged = cause_of_change(old, merge(old, record))
    assert (judged.cause, judged.cause_broker) == (cause, broker)


def test_both_signs_of_an_unclean_election_are_kept_apart() -> None:
    old = state(leader=-1, isr=(1,))
    outside = cause_of_change(old, merge(old, {"leader": 2, "isr": [2]}))
    recovering = cause_of_change(old, merge(old, {"leader": 1, "leaderRecoveryState": 1}))
    assert (outside.leader_was_outside, outside.began_recovering) == (True, False)
    assert (recovering.leader_was_outside, recovering.began_recovering) == (False, True)
    assert outside.election is recovering.election is Election.UNCLEAN


def partition_changes(*batches: tuple[Spec, ...]) -> list[PartitionChange]:
    log = Log()
    cluster(log)
    first = log.next_offset
    for specs in batches:
        log.batch(*specs)
    found = changes_of(log.records, PartitionChange)
    return [one for one in found if one.offset >= first]


LEAVES = {"isr": [2, 3], "leader": 2}

NEIGHBOURS: list[Any] = [
    pytest.param(
        (change(ORDERS, 0, **LEAVES), fence(1, 10)),
        Cause.BROKER_FENCED,
        1,
        id="fenced: changes, then record",
    ),
    pytest.param(
        (
            change(ORDERS, 0, **LEAVES),
            ("FENCE_BROKER_RECORD", {"id": 1, "epoch": 10}),
        ),
        Cause.BROKER_FENCED,
        1,
        id="fenced before 3.3-IV2",
    ),
    pytest.param(
        (registration_change(1, 10, inControlledShutdown=1), change(ORDERS, 0, **LEAVES)),
        Cause.CONTROLLED_SHUTDOWN,
        1,
        id="shutdown: record, then changes",
    ),
    pytest.param(
        (
            registration_change(1, 10, inControlledShutdown=1),
            change(ORDERS, 0, **LEAVES),
            fence(1, 10),
        ),
        Cause.CONTROLLED_SHUTDOWN,
        1,
        id="a shutdown stays one when the fence is in the same batch",
    ),
    pytest.param(
        (change(ORDERS, 0, **LEAVES), unregister(1, 10)),
        Cause.BROKER_UNREGISTERED,
        1,
        id="unregistered",
    ),
    pytest.param(
        (change(ORDERS, 0, **LEAVES), register(1, 99, incarnation=2)),
        Cause.BROKER_RESTARTED,
        1,
        id="came back as another incarnation",
    ),
    pytest.param(
        (change(ORDERS, 0, isr=[1, 2]), fence(1, 10)),
        Cause.ISR_SHRINK,
        3,
        id="a fence of a broker that the partition did not lose",
    ),
    pytest.param(
        (fence(1, 10), change(ORDERS, 0, **LEAVES)),
        Cause.LEADER_ELECTION,
        None,
        id="a change behind the fence is not its own",
    ),
    pytest.param(
        (change(ORDERS, 0, isr=[2], leader=2), fence(3, 30), fence(1, 10)),
        Cause.BROKER_FENCED,
        1,
        id="of two the leader that went is named",
    ),
    pytest.param(
        (change(ORDERS, 0, leader=-1, isr=[1]), fence(1, 10)),
        Cause.BROKER_FENCED,
        1,
        id="the last in-sync replica stays in the ISR and the leader is gone",
    ),
]


@pytest.mark.parametrize(("batch", "cause", "broker"), NEIGHBOURS)
def test_neighbours_in_the_batch_tell_the_cause(
    batch: tuple[Spec, ...], cause: Cause, broker: int | None
) -> None:
    (found,) = partition_changes(batch)
    assert (found.cause, found.cause_broker) == (cause, broker)


def test_each_event_of_a_batch_has_its_own_changes() -> None:
    found = partition_changes(
        (
            change(ORDERS, 0, isr=[2, 3], leader=2),
            fence(1, 10),
            change(ORDERS, 0, isr=[3], leader=3),
            change(ORDERS, 1, isr=[3, 1], leader=3),
            fence(2, 20),
        )
    )
    assert [(one.partition, one.cause_broker) for one in found] == [(0, 1), (0, 2), (1, 2)]
    assert {one.cause for one in found} == {Cause.BROKER_FENCED}


def test_an_unfenced_broker_brings_its_partitions_a_leader() -> None:
    found = partition_changes(
        (change(ORDERS, 0, isr=[], leader=-1, eligibleLeaderReplicas=[1]), fence(1, 10)),
        (unfence(1, 10), change(ORDERS, 0, isr=[1], leader=1, eligibleLeaderReplicas=[])),
    )
    assert [(one.cause, one.cause_broker, one.election) for one in found] == [
        (Cause.BROKER_FENCED, 1, Election.NO_LEADER),
        (Cause.BROKER_UNFENCED, 1, Election.ELIGIBLE_LEADER_REPLICA),
    ]


def test_a_fence_that_ends_in_an_unclean_election_says_both() -> None:
    (found,) = partition_changes(
        (
            change(ORDERS, 0, isr=[1]),
            fence(3, 30),
        ),
        (change(ORDERS, 0, isr=[2], leader=2, leaderRecoveryState=1), fence(1, 10)),
    )[1:]
    assert (found.cause, found.cause_broker) == (Cause.BROKER_FENCED, 1)
    assert found.is_unclean
    assert found.election is Election.UNCLEAN


def test_a_preferred_replica_that_leads_because_another_went_was_not_a_preferred_election() -> None:
    (found,) = partition_changes((change(ORDERS, 1, isr=[3, 1], leader=3), fence(2, 20)))
    assert found.election is Election.IN_SYNC


def test_a_shutdown_continues_in_later_batches() -> None:
    found = partition_changes(
        (registration_change(1, 10, inControlledShutdown=1),),
        (change(ORDERS, 0, **LEAVES),),
    )
    assert [(one.cause, one.cause_broker) for one in found] == [(Cause.CONTROLLED_SHUTDOWN, 1)]


def test_the_fence_after_a_shutdown_is_a_fence() -> None:
    found = partition_changes(
        (registration_change(1, 10, inControlledShutdown=1),),
        (change(ORDERS, 0, leader=-1, isr=[1]), fence(1, 10)),
    )
    assert [(one.cause, one.cause_broker) for one in found] == [(Cause.BROKER_FENCED, 1)]


def test_a_failed_log_directory_takes_its_partitions_with_it() -> None:
    log = Log()
    log.batch(register(1, 10, logDirs=[uuid(1), uuid(2)]))
    log.batch(topic("orders", ORDERS), partition(ORDERS))
    log.batch(change(ORDERS, 0, **LEAVES), registration_change(1, 10, logDirs=[uuid(2)]))
    found = changes_of(log.records, PartitionChange)[-1]
    assert (found.cause, found.cause_broker) == (Cause.LOG_DIR_FAILED, 1)


def test_an_event_that_fills_more_than_one_batch_is_still_the_cause() -> None:
    log = Log()
    cluster(log)
    many = 10_000
    log.batch(topic("many", uuid(5)), *(partition(uuid(5), at) for at in range(many - 1)))
    log.batch(*(partition(uuid(5), at) for at in range(many - 1, many + 5)))
    first = log.next_offset
    log.batch(*(change(uuid(5), at, **LEAVES) for at in range(many)))
    log.batch(*(change(uuid(5), at, **LEAVES) for at in range(many, many + 5)), fence(1, 10))
    found = changes_of(log.records, PartitionChange)
    assert {one.cause for one in found if one.topic == "many" and one.offset < first} == {
        Cause.TOPIC_CREATED
    }
    assert {(one.cause, one.cause_broker) for one in found if one.offset >= first} == {
        (Cause.BROKER_FENCED, 1)
    }


def test_a_topic_made_with_min_insync_replicas_is_created_although_its_elr_is_cleared_first() -> (
    None
):
    log = Log()
    log.batch(
        topic("orders", ORDERS), ("CLEAR_ELR_RECORD", {"topicName": "orders"}), partition(ORDERS, 0)
    )
    found = changes_of(log.records, PartitionChange)
    assert [one.cause for one in found] == [Cause.TOPIC_CREATED]


def test_partitions_that_come_later_were_added() -> None:
    log = Log()
    log.batch(topic("orders", ORDERS), partition(ORDERS, 0))
    log.batch(no_op())
    log.batch(partition(ORDERS, 1))
    found = changes_of(log.records, PartitionChange)
    assert [one.cause for one in found] == [Cause.TOPIC_CREATED, Cause.PARTITIONS_ADDED]


BROKER_EVENTS: list[Any] = [
    pytest.param(unfence(1, 10), Cause.BROKER_UNFENCED, id="unfenced"),
    pytest.param(register(1, 20, incarnation=2), Cause.BROKER_RESTARTED, id="restarted"),
    pytest.param(register(1, 20), Cause.REGISTRATION_UPDATED, id="the same incarnation again"),
    pytest.param(unregister(1, 10), Cause.BROKER_UNREGISTERED, id="unregistered"),
    pytest.param(
        registration_change(1, 10, inControlledShutdown=1), Cause.CONTROLLED_SHUTDOWN, id="shutdown"
    ),
    pytest.param(
        registration_change(1, 10, logDirs=[uuid(1)]), Cause.LOG_DIR_FAILED, id="directory lost"
    ),
    pytest.param(
        registration_change(1, 10, logDirs=[uuid(1), uuid(2), uuid(3)]),
        Cause.LOG_DIRS_CHANGED,
        id="directory added",
    ),
    pytest.param(
        registration_change(1, 10, cordonedLogDirs=[uuid(1)]),
        Cause.LOG_DIRS_CORDONED,
        id="cordoned",
    ),
    pytest.param(registration_change(1, 10), Cause.NOTHING, id="nothing named"),
]


@pytest.mark.parametrize(("event", "cause"), BROKER_EVENTS)
def test_what_happens_to_a_broker_has_a_name(event: Spec, cause: Cause) -> None:
    log = Log()
    log.batch(register(1, 10, logDirs=[uuid(1), uuid(2)]))
    log.batch(event)
    first, second = changes_of(log.records, BrokerChange)
    assert (first.cause, second.cause) == (Cause.BROKER_REGISTERED, cause)
