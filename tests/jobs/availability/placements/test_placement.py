"""Placement constraints: Confluent's JSON, upstream's rules, and real replicas compared with them."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.placements.compare import compare_placement
from jobs.availability.placements.placement import (
    LARGEST_COUNT,
    InvalidPlacement,
    Placement,
    PromotionPolicy,
    RackCount,
    Roles,
    assign_roles,
    check_placement,
    observers_of,
    parse_placement,
)
from tests.jobs.availability.clusters import partition

WEST_AND_EAST = {1: "west", 2: "west", 3: "east", 4: "east"}


def entry(rack: object = "west", count: object = 1) -> dict:
    return {"count": count, "constraints": {"rack": rack}}


def document(**more) -> dict:
    return {"version": 2, "replicas": [entry(count=2)], "observers": [entry("east", 2)], **more}


PLACEMENT = parse_placement(document())


def test_a_placement_is_read_from_text_or_a_document():
    wanted = Placement(
        2, (RackCount("west", 2),), (RackCount("east", 2),), PromotionPolicy.UNDER_MIN_ISR
    )
    assert parse_placement(json.dumps(document())) == parse_placement(document()) == wanted
    assert (wanted.sync_count, wanted.observer_count, wanted.replication_factor) == (2, 2, 4)
    assert wanted.racks == ("west", "east")


@pytest.mark.parametrize("policy", list(PromotionPolicy))
def test_version_2_names_any_policy(policy):
    assert parse_placement(document(observerPromotionPolicy=policy.value)).policy is policy


@pytest.mark.parametrize(
    ("more", "version"),
    [({}, 1), ({"observerPromotionPolicy": "under-replicated"}, 2)],
    ids=["no policy", "a policy"],
)
def test_without_a_version_it_is_the_one_that_allows_what_is_said(more, version):
    assert parse_placement({"replicas": [entry()], **more}).version == version


def test_a_rack_may_have_replicas_and_observers():
    told = document(observers=[entry("west", 1)])
    assert parse_placement(told).wanted("west") == (2, 1)


@pytest.mark.parametrize(
    ("told", "path", "sentence"),
    [
        pytest.param([], "", "An object is wanted, not a list.", id="a list"),
        pytest.param("{", "", "It is no JSON: it ends too early.", id="malformed"),
        pytest.param('{"version":1,"version":2}', "", "The key 'version' is there twice", id="a key twice"),
        pytest.param("[" * 60_000, "", "It is nested too deeply.", id="nested deeply"),
        pytest.param("1" * 70_000, "", "The text is longer than", id="too long"),
        pytest.param('{"version":' + "1" * 5_000 + "}", "", "a number with too many digits", id="a huge number"),
        pytest.param(document(version=3), "version", "Version 1 or 2 is wanted, not 3.", id="version"),
        pytest.param(document(version=True), "version", "not true", id="version true"),
        pytest.param(document(version="2"), "version", 'not "2"', id="version as text"),
        pytest.param(document(rack="a"), "rack", "There is no such key", id="an unknown key"),
        pytest.param({"version": 2}, "replicas", "At least one rack", id="no replicas"),
        pytest.param(document(replicas={}), "replicas", "A list is wanted, not an object.", id="no list"),
        pytest.param(document(replicas=[entry()] * 101), "replicas", "101 racks are more than 100.", id="too many"),
        pytest.param(document(replicas=[7]), "replicas[0]", "An object is wanted, not a number.", id="no entry"),
        pytest.param(document(replicas=[entry(count=0)]), "replicas[0].count", "not 0", id="count 0"),
        pytest.param(document(replicas=[entry(count=-1)]), "replicas[0].count", "not -1", id="count below 0"),
        pytest.param(document(replicas=[entry(count=40_000)]), "replicas[0].count", "1 to 32,767", id="huge count"),
        pytest.param(document(replicas=[entry(count=2.0)]), "replicas[0].count", "not 2.0", id="count with a point"),
        pytest.param(document(replicas=[entry(count=True)]), "replicas[0].count", "not true", id="count true"),
        pytest.param(document(replicas=[{"constraints": {"rack": "a"}}]), "replicas[0].count", "not nothing", id="no count"),
        pytest.param(document(replicas=[{"count": 1}]), "replicas[0].constraints", "with a rack", id="no constraints"),
        pytest.param(document(replicas=[entry("")]), "replicas[0].constraints.rack", 'not ""', id="empty rack"),
        pytest.param(document(replicas=[entry(None)]), "replicas[0].constraints.rack", "not nothing", id="rack null"),
        pytest.param(document(replicas=[entry("x" * 256)]), "replicas[0].constraints.rack", "longer than 255", id="long rack"),
        pytest.param(
            document(replicas=[{**entry(), "weight": 1}]), "replicas[0].weight", "no such key", id="a key in an entry"
        ),
        pytest.param(
            document(observers=[{"count": 1, "constraints": {"rack": "a", "dc": "b"}}]),
            "observers[0].constraints.dc", "no such key", id="a constraint that is not known",
        ),
        pytest.param(
            document(replicas=[entry("a"), entry("b"), entry("a")]),
            "replicas[2].constraints.rack", "is also in replicas[0]", id="a rack twice",
        ),
        pytest.param(
            document(observerPromotionPolicy="leader-is-offline"),
            "observerPromotionPolicy", 'There is no policy "leader-is-offline"', id="unknown policy",
        ),
        pytest.param(
            document(observerPromotionPolicy=["under-min-isr"]),
            "observerPromotionPolicy", "There is no policy a list", id="a policy that is no text",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_field(told, path, sentence):
    with pytest.raises(InvalidPlacement) as refused:
        parse_placement(told)
    assert list(refused.value.problems) == [path]
    assert sentence in refused.value.problems[path]


def test_every_problem_is_told_at_once():
    told = document(version=9, replicas=[entry(count=0), entry("", 1)], observers=7)
    with pytest.raises(InvalidPlacement) as refused:
        parse_placement(told)
    assert set(refused.value.problems) == {
        "version",
        "replicas[0].count",
        "replicas[1].constraints.rack",
        "observers",
    }


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_whatever_is_given_is_a_placement_or_refused(value):
    for told in (
        value,
        {"replicas": value},
        {"version": 2, "replicas": [value], "observers": value},
    ):
        with contextlib.suppress(InvalidPlacement):
            assert parse_placement(told).sync_count


RACK_COUNTS = st.dictionaries(
    st.text(min_size=1, max_size=9).filter(str.strip), st.integers(1, LARGEST_COUNT), max_size=4
).map(lambda told: tuple(RackCount(*one) for one in told.items()))


@given(RACK_COUNTS.filter(bool), RACK_COUNTS, st.sampled_from(PromotionPolicy))
def test_what_is_written_is_read_again(replicas, observers, policy):
    placement = Placement(2, replicas, observers, policy)
    assert parse_placement(json.dumps(placement.as_json())) == placement
    first = Placement(1, replicas, observers)
    assert parse_placement(first.as_json()) == first


# Whether a cluster can hold it


@pytest.mark.parametrize(
    ("racks", "problems"),
    [
        pytest.param(WEST_AND_EAST, {}, id="enough"),
        pytest.param(
            {1: "west", 2: "west", 3: "east"},
            {"observers[0].count": "2 observers required in rack east, which has 1 broker."},
            id="too few brokers",
        ),
        pytest.param(
            {1: "west", 2: "west"},
            {"observers[0].constraints.rack": "No broker is in rack east. Racks: west."},
            id="no such rack",
        ),
        pytest.param(
            {1: None},
            {
                "replicas[0].constraints.rack": "No broker has a rack: set broker.rack, then place topics "
                "in rack west.",
                "observers[0].constraints.rack": "No broker has a rack: set broker.rack, then place topics "
                "in rack east.",
            },
            id="brokers without racks",
        ),
    ],
)
def test_whether_a_cluster_can_hold_a_placement(racks, problems):
    assert check_placement(PLACEMENT, racks) == problems


def test_replicas_and_observers_of_one_rack_need_brokers_for_both():
    placement = parse_placement(document(observers=[entry("west", 1)]))
    sentence = "2 replicas and 1 observers required in rack west, which has 2 brokers."
    assert check_placement(placement, WEST_AND_EAST) == {
        "replicas[0].count": sentence,
        "observers[0].count": sentence,
    }


# Roles


@pytest.mark.parametrize(
    ("replicas", "roles"),
    [
        ((1, 2, 3, 4), Roles((1, 2), (3, 4))),
        ((4, 2, 3, 1), Roles((2, 1), (4, 3))),
        ((1, 2, 5, 3), Roles((1, 2), (3,), (5,))),
        ((1, 9, 3), Roles((1,), (3,), (9,))),
    ],
    ids=["as placed", "another order", "one too many", "no such broker"],
)
def test_replicas_have_the_role_that_their_rack_has_room_for(replicas, roles):
    assert assign_roles(PLACEMENT, replicas, {**WEST_AND_EAST, 5: "west"}) == roles


def test_in_a_rack_for_both_the_first_are_sync_replicas():
    placement = parse_placement(document(observers=[entry("west", 1)]))
    racks = {1: "west", 2: "west", 3: "west"}
    assert assign_roles(placement, (3, 1, 2), racks) == Roles((3, 1), (2,))


def test_without_a_placement_all_are_sync_replicas():
    assert assign_roles(None, (2, 1), {}) == Roles((2, 1))


# Compared with what is there


def codes(placement, *replicas, racks=None, **facts) -> list[str]:
    found = compare_placement(placement, partition(*replicas, **facts), racks or WEST_AND_EAST)
    assert all(one.sentence.endswith(".") for one in found)
    return [one.code.value for one in found]


BOTH_SIDES = parse_placement({"version": 1, "replicas": [entry("west", 2), entry("east", 2)]})


@pytest.mark.parametrize(
    ("placement", "replicas", "facts", "wanted"),
    [
        pytest.param(PLACEMENT, (1, 2, 3, 4), {"observers": (3, 4)}, [], id="as it should be"),
        pytest.param(PLACEMENT, (1, 2, 3), {"observers": (3,)}, ["wrong-count"], id="too few in a rack"),
        pytest.param(
            PLACEMENT, (1, 3, 4), {"observers": (3, 4)}, ["wrong-count", "under-replicated"], id="no sync replica"
        ),
        pytest.param(
            PLACEMENT, (1, 2, 3, 4, 5), {"observers": (3, 4), "isr": (1, 2)}, ["unknown-replica"], id="a stranger"
        ),
        pytest.param(
            PLACEMENT, (1, 2, 3, 4), {"observers": (2, 4), "isr": (1, 3)},
            ["wrong-count", "wrong-count", "observer-in-wrong-rack"], id="an observer on the wrong side",
        ),
        pytest.param(
            PLACEMENT, (1, 2, 3, 4), {"observers": (3, 4), "isr": (2, 4), "leader": 4},
            ["leader-is-observer", "observer-in-isr", "under-replicated"], id="an observer leads",
        ),
        pytest.param(
            PLACEMENT, (1, 2, 3, 4), {"isr": (1, 2, 3, 4)}, ["observer-in-isr"], id="no one keeps observers out"
        ),
        pytest.param(
            BOTH_SIDES, (1, 2, 3, 4), {"isr": (1, 2)}, ["isr-in-one-rack", "under-replicated"], id="one site has all"
        ),
        pytest.param(PLACEMENT, (1, 2, 3, 4), {"observers": (3, 4), "isr": (1,)}, ["under-replicated"], id="short"),
    ],
)  # fmt: skip
def test_what_differs_from_the_placement(placement, replicas, facts, wanted):
    assert codes(placement, *replicas, racks={**WEST_AND_EAST, 5: "north"}, **facts) == wanted


@pytest.mark.parametrize(
    ("replicas", "facts", "wanted"),
    [
        pytest.param((1, 2, 4, 3), {"isr": (1, 2, 4), "adding": (3,), "removing": (4,)}, ["wrong-count"],
                     id="judged by what it leads to"),
        pytest.param((1, 2, 3, 4, 5), {"isr": (1, 2, 3, 5), "adding": (4,), "removing": (5,)}, [],
                     id="what it removes is no stranger"),
        pytest.param((1, 2, 3, 4), {"isr": (1, 3), "adding": (2, 4)}, [], id="what it adds is not missing"),
        pytest.param((1, 2, 3, 4), {"isr": (1,), "adding": (2, 4)}, ["isr-in-one-rack", "under-replicated"],
                     id="what was there before is"),
    ],
)  # fmt: skip
def test_a_partition_in_a_reassignment(replicas, facts, wanted):
    assert codes(BOTH_SIDES, *replicas, racks={**WEST_AND_EAST, 5: "north"}, **facts) == wanted


def test_the_observer_that_a_reassignment_removes_stays_one():
    racks = {1: "west", 2: "west", 3: "east", 4: "east", 5: "east"}
    assert observers_of(PLACEMENT, (1, 2, 3, 5, 4), racks, (5,), (4,)) == (3, 5, 4)


def test_a_rack_in_which_no_broker_is():
    assert codes(PLACEMENT, 1, 2, racks={1: "west", 2: "west"}) == ["rack-missing"]


def test_a_violation_names_the_brokers_it_is_about():
    model = partition(1, 2, 3, 4, observers=(3, 4), isr=(1, 4))
    found = {one.code.value: one for one in compare_placement(PLACEMENT, model, WEST_AND_EAST)}
    assert found["observer-in-isr"].brokers == (4,)
    assert found["under-replicated"].brokers == (2,)
    assert found["under-replicated"].sentence == "1 of 2 sync replicas are not in the ISR: 2."
