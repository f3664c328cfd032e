"""One partition: how records change it, by upstream's own cases."""

from typing import Any

import pytest

from jobs.quorum.image.partition_registration import (
    MIGRATING,
    PartitionRegistration,
    clear_elr,
    difference_text,
    merge,
    partition_from_record,
)
from jobs.wire.values import uuid_text
from tests.jobs.quorum.voters.elr import elect, eligible_after
from tests.support import conformance_cases

_WIRE_NAMES = {
    "replicas": "replicas",
    "isr": "isr",
    "leader": "leader",
    "adding_replicas": "addingReplicas",
    "removing_replicas": "removingReplicas",
}


def state(**fields: Any) -> PartitionRegistration:
    told = {
        "replicas": (1, 2, 3),
        "isr": (1, 2, 3),
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 9,
        "directories": ("a", "b", "c"),
    }
    return PartitionRegistration(**(told | fields))


@pytest.mark.parametrize("case", conformance_cases("kraft_vectors", "partition_merge"))
def test_changes_are_merged_as_upstream_does(case: dict[str, Any]) -> None:
    told = {k: tuple(v) if isinstance(v, list) else v for k, v in case["before"].items()}
    before = now = PartitionRegistration(**told, directories=("d",) * len(told["replicas"]))
    for changed, expected in zip(case["changes"], case["expected"], strict=True):
        now = merge(now, {_WIRE_NAMES[name]: value for name, value in changed.items()})
        for name, value in expected.items():
            assert getattr(now, name) == (tuple(value) if isinstance(value, list) else value)
    if "diff_text" in case:
        assert difference_text(before, now) == case["diff_text"]


@pytest.mark.parametrize("case", conformance_cases("kraft_vectors", "directory_id"))
def test_of_the_reserved_directories_one_is_migrating(case: dict[str, Any]) -> None:
    text = uuid_text(bytes.fromhex(case["hex"]))
    assert (text == MIGRATING) is (case["expected"] == "MIGRATING")


@pytest.mark.parametrize("case", conformance_cases("kraft_vectors", "elr"))
def test_eligible_leader_replicas_are_those_of_upstream(case: dict[str, Any]) -> None:
    before, expected = case["before"], case["expected"]
    if "target_isr" in case:
        found = eligible_after(before["isr"], (), case["target_isr"], before["min_isr"])
        assert list(found) == expected["elr"]
        return
    elected = elect((), before["isr"], before["elr"], case["offline"], 2)
    assert (list(elected.isr), list(elected.elr), elected.leader) == (
        expected["isr"],
        expected["elr"],
        expected["leader"],
    )


def test_replicas_that_went_down_uncleanly_are_not_eligible() -> None:
    assert eligible_after((1, 2), (3,), (1,), 2, unclean_shutdown=(3,)) == (2,)


def test_without_anybody_in_sync_or_eligible_there_is_no_leader() -> None:
    assert elect((1, 2), (1,), (), (1,), 1) == (-1, (), (1,))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            {}, {"partition_epoch": 10}, id="nothing named, nothing changed but the epoch"
        ),
        pytest.param({"isr": None, "replicas": None}, {"isr": (1, 2, 3)}, id="null stays"),
        pytest.param({"isr": []}, {"isr": ()}, id="empty is now empty"),
        pytest.param({"leader": -2}, {"leader": 1, "leader_epoch": 5}, id="leader -2 stays"),
        pytest.param(
            {"leader": 1}, {"leader": 1, "leader_epoch": 6}, id="the same leader bumps the epoch"
        ),
        pytest.param({"leader": -1}, {"leader": -1, "leader_epoch": 6}, id="leader -1 is none"),
        pytest.param({"leaderRecoveryState": -1}, {"recovery_state": 0}, id="recovery -1 stays"),
        pytest.param({"leaderRecoveryState": 1}, {"recovery_state": 1}, id="recovering"),
        pytest.param(
            {"eligibleLeaderReplicas": [3], "lastKnownElr": [2]},
            {"elr": (3,), "last_known_elr": (2,)},
            id="ELR",
        ),
        pytest.param(
            {"directories": ["x", "y", "z"]}, {"directories": ("x", "y", "z")}, id="directories"
        ),
        pytest.param(
            {"directories": [MIGRATING] * 2, "replicas": [1, 2]},
            {"directories": (MIGRATING,) * 2},
            id="all migrating is migrating for each replica",
        ),
    ],
)
def test_a_change_record_changes_what_it_names(
    data: dict[str, Any], expected: dict[str, Any]
) -> None:
    after = merge(state(), data)
    for name, value in expected.items():
        assert getattr(after, name) == value


def test_a_partition_record_without_optional_fields_has_empty_ones() -> None:
    found = partition_from_record(
        {"replicas": [1, 2], "isr": [1], "leader": 1, "leaderEpoch": 3, "partitionEpoch": 4}
    )
    assert found == PartitionRegistration((1, 2), (1,), 1, 3, 4, directories=(MIGRATING, MIGRATING))


def test_clearing_an_elr_raises_the_partition_epoch_only_where_there_was_one() -> None:
    plain, eligible = state(), state(elr=(3,), last_known_elr=(2,))
    assert clear_elr(plain) is plain
    assert clear_elr(eligible) == state(partition_epoch=10)
