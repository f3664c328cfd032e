"""What `rebalances` says of groups, by the records of their coordinator."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.groups.rebalances import ANALYSIS
from jobs.wire.topics.group_epochs import NUMBERS, decode_group_key, offsets_partition
from tests.jobs.spark.analyses.groups.given_groups import (
    columns,
    commit,
    current,
    deleted,
    epoch,
    generation,
    gone,
    member,
    told,
)
from tests.support import STREAMS_LIVE

FIRST = generation("g", 0, 1_000)
ONE = generation("g", 1, 2_000, {"a": [0, 1]})
BOTH = generation("g", 2, 5_000, {"a": [0], "b": [1]})


def captured(name):
    rows = json.loads((STREAMS_LIVE / name / "group_log.json").read_text(encoding="utf-8"))
    rows = [one for one in rows if one["partition"] == rows[0]["partition"]]
    read = lambda text: None if text is None else bytes.fromhex(text)  # noqa: E731
    records = [(one["ts"], read(one["key_hex"]), read(one["value_hex"])) for one in rows]
    return told(*records, offsets=[one["offset"] for one in rows])


def test_a_classic_group_says_who_joined_and_left_and_what_moved():
    alone = generation("g", 3, 9_000, {"b": [0, 1]})
    tables = told(FIRST, ONE, commit("g", 3_000), BOTH, alone)
    names = ("generation", "at_ms", "joined", "left", "moved", "reason", "duration_ms")
    assert columns(tables["rebalances"], *names) == [
        (1, 2_000, 1, 0, 0, "joined", None),
        (2, 5_000, 1, 0, 1, "joined", None),
        (3, 9_000, 0, 1, 1, "left", None),
    ]
    assert columns(tables["moves"], "generation", "unit", "role", "from", "to") == [
        (2, "orders-1", "active", "a-1", "b-1"),
        (3, "orders-0", "active", "a-1", "b-1"),
    ]
    (group,) = tables["groups"]
    assert (group["joins"], group["leaves"], group["moves"]) == (2, 1, 2)


def test_a_group_whose_begin_is_gone_has_no_joins_that_are_known():
    tables = told(
        generation("g", 7, 2_000, {"a": [0]}), generation("g", 9, 3_000, {"b": [0]}), offsets=[5, 8]
    )
    assert columns(tables["rebalances"], "generation", "joined", "moved", "missed", "reason") == [
        (7, None, None, None, "not_known"),
        (9, 1, 1, 1, "not_known"),
    ]
    (partition,) = tables["partitions"]
    assert partition["removed"] == 7


def test_a_group_that_all_members_left_is_emptied():
    tables = told(FIRST, ONE, generation("g", 2, 3_000))
    assert columns(tables["rebalances"], "reason")[1] == ("emptied",)


def test_a_static_member_that_is_replaced_is_no_rebalance():
    same = generation("g", 1, 2_000, {"a": [0]}, static={"a"})
    again = generation("g", 2, 4_000, {"a": [0]}, static={"a"})
    tables = told(FIRST, same, same, again)
    names = ("generation", "joined", "left", "moved", "reason")
    assert columns(tables["rebalances"], *names)[1:] == [(2, 0, 0, 0, "same_members")]


def test_a_deleted_group_begins_again_without_members():
    tables = told(FIRST, ONE, deleted("g", 3_000), generation("g", 1, 4_000, {"b": [0]}))
    assert columns(tables["rebalances"], "joined", "left")[1:] == [(1, 0)]
    assert told(FIRST, ONE, deleted("g", 3_000))["groups"][0]["deleted_ms"] == 3_000


def test_a_client_that_comes_back_three_times_within_an_hour_is_flapping():
    members = [{"a": [0], "b": [1]}, {"a": [0, 1]}]
    times = [generation("g", 1 + n, 60_000 * n, members[n % 2]) for n in range(7)]
    tables = told(generation("g", 0, 0), *times)
    names = ("client_id", "joins", "leaves", "is_flapping")
    assert columns(tables["members"], *names) == [("b", 4, 3, True), ("a", 1, 0, False)]
    slow = [generation("g", 1 + n, 3_600_000 * n, members[n % 2]) for n in range(7)]
    assert not any(row["is_flapping"] for row in told(*slow)["members"])


def test_what_another_protocol_assigns_is_not_read():
    tables = told(FIRST, generation("g", 1, 2_000, {"a": [0]}, kind="connect"))
    assert columns(tables["rebalances"], "joined", "moved") == [(1, None)]


def test_an_epoch_lasts_until_all_members_have_reached_it():
    tables = told(
        member("g", "m1", 1_000),
        epoch("g", 1, 1_000),
        current("g", "m1", 1, 1_000, 0, 1),
        member("g", "m2", 5_000),
        epoch("g", 2, 5_000),
        current("g", "m2", 2, 5_000, state=2),
        current("g", "m1", 2, 6_000, 0),
        current("g", "m2", 2, 7_500, 1),
        gone("g", "m1", 9_000),
        epoch("g", 3, 9_000),
        current("g", "m2", 3, 9_400, 0, 1),
    )
    names = ("generation", "members", "joined", "left", "moved", "duration_ms")
    assert columns(tables["rebalances"], *names) == [
        (1, 1, 1, 0, 0, 0),
        (2, 2, 1, 0, 1, 2_500),
        (3, 1, 0, 1, 1, 400),
    ]
    topic = "AAECAwQFBgcICQoLDA0ODw"
    assert columns(tables["moves"], "unit", "from", "to") == [
        (f"{topic}-1", "app/m1", "app/m2"),
        (f"{topic}-0", "app/m1", "app/m2"),
    ]


def test_an_epoch_that_not_all_members_reached_has_no_duration():
    tables = told(
        member("g", "m1", 1_000), epoch("g", 1, 1_000), current("g", "m1", 1, 1_000),
        member("g", "m1", 2_000), epoch("g", 2, 2_000), epoch("g", 3, 3_000),
    )  # fmt: skip
    assert columns(tables["rebalances"], "reason", "duration_ms") == [
        ("joined", 0), ("member_changed", None), ("same_members", None),
    ]  # fmt: skip


def test_members_of_a_log_without_its_begin_are_not_known():
    tables = told(member("g", "m1", 1_000), epoch("g", 8, 1_000), offsets=[50, 51], log_start=50)
    names = ("members", "joined", "missed", "reason")
    assert columns(tables["rebalances"], *names) == [(None, None, None, "not_known")]


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        pytest.param({}, ["g", "other"], id="all"),
        pytest.param({"names": ["other"]}, ["other"], id="name"),
        pytest.param({"names": [], "globs": ["o*"]}, ["other"], id="pattern"),
    ],
)
def test_only_groups_that_were_chosen_are_followed(options, groups):
    other = generation("other", 1, 2_000, {"a": [0]})
    assert [row["group"] for row in told(FIRST, ONE, other, **options)["groups"]] == groups


def test_rebalances_before_the_range_count_only_for_what_was_before():
    tables = told(FIRST, ONE, BOTH, from_ms=4_000)
    assert columns(tables["rebalances"], "generation", "joined") == [(2, 1)]
    assert tables["groups"][0]["joins"] == 1


def test_the_newest_rebalances_are_kept_and_all_are_counted():
    tables = told(FIRST, ONE, BOTH, most=1)
    assert columns(tables["rebalances"], "generation") == [(2,)]
    assert tables["partitions"][0]["rebalances"] == 2


def test_tasks_of_a_real_classic_application_are_handed_over_in_a_planned_rebalance():
    tables = captured("classic_two_instances")
    names = ("generation", "members", "joined", "reason")
    assert columns(tables["rebalances"], *names) == [
        (1, 2, 2, "joined"),
        (2, 2, 0, "same_members"),
        (3, 4, 2, "joined"),
        (4, 4, 0, "planned"),
    ]
    handed = {row["unit"] for row in tables["moves"] if row["from"] and row["role"] == "active"}
    assert handed == {
        row["unit"] for row in tables["moves"] if row["to"] and row["role"] == "active"
    }


def test_epochs_of_a_real_streams_group_have_tasks_by_role_and_a_duration():
    tables = captured("streams_protocol")
    assert [row["generation"] for row in tables["rebalances"]] == list(range(2, 13))
    assert tables["partitions"][0]["undecodable"] == 0
    assert {row["role"] for row in tables["moves"]} == {"active", "standby"}
    (group,) = tables["groups"]
    assert (group["joins"], group["leaves"], group["longest_ms"]) == (5, 4, 10_016)
    assert group["members_now"] == 2


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**40),
            st.tuples(st.sampled_from(NUMBERS), st.binary(max_size=20)).map(
                lambda one: bytes([0, one[0]]) + one[1]
            ),
            st.none() | st.binary(max_size=60),
        ),
        min_size=1,
        max_size=10,
    )
)
@settings(deadline=None)
def test_no_bytes_at_all_make_reading_fail(records):
    assert told(*records)["partitions"][0]["records"] == len(records)


@given(st.binary(max_size=80), st.sampled_from([one for one in NUMBERS if one != 2]))
@settings(deadline=None)
def test_a_value_that_cannot_be_read_is_counted_or_read(content, number):
    name = b"\0\1g\0\1m" if number in {5, 8, 19, 22} else b"\0\1g"
    value = b"\0\0" + content
    tables = told((1_000, bytes([0, number]) + name, value))
    assert tables["partitions"][0]["undecodable"] in {0, 1}


@pytest.mark.parametrize(
    ("group", "partition"),
    # Java's hashes: 3556498, 99162322, -2147483648, 31 * 0xD83D + 0xDE00.
    [("test", 48), ("hello", 22), ("polygenelubricants", 0), ("\N{GRINNING FACE}", 49)],
)
def test_the_partition_of_a_group_is_that_of_its_coordinator(group, partition):
    assert offsets_partition(group, 50) == partition


def test_brokers_wrote_the_records_of_groups_to_these_partitions():
    placed = set()
    for path in STREAMS_LIVE.glob("*/group_log.json"):
        for one in json.loads(path.read_text(encoding="utf-8")):
            placed.add((decode_group_key(bytes.fromhex(one["key_hex"])).group, one["partition"]))
    # One of them has a hash below 0.
    assert len(placed) == 3
    assert placed == {(group, offsets_partition(group, 5)) for group, _ in placed}


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(ANALYSIS, {"cluster": "east", "from": 2, "to": 1})
    assert set(refused.value.errors) == {"to"}


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(ANALYSIS, {"cluster": "east", "group": "[z-a]*"})
    assert set(refused.value.errors) == {"group"}
