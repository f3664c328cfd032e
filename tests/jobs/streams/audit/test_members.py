"""Members of an application: partitions in two threads, versions, errors, joins, epochs."""

import json
from dataclasses import replace

import pytest

from jobs.streams.application import Protocol, TasksByRole
from jobs.streams.rebalances.changes import Change, Reason, ThreadJoins
from tests.jobs.streams.audit.seeing import (
    BEYOND,
    NOW_MS,
    application,
    conditions,
    found,
    not_known,
    streams_application,
    tasks,
    thread,
)


def pair(first=None, second=None, **fields):
    return application(
        thread(1, (0, 1), **(first or {})), thread(2, (2, 3), **(second or {})), **fields
    )


def streams_pair(first=None, second=None, **fields):
    return pair(first, second, protocol=Protocol.STREAMS, generation=7, **fields)


AT_7 = {"member_epoch": 7, "topology_epoch": 1}


@pytest.mark.parametrize(
    ("of", "code", "said"),
    [
        pytest.param(
            application(*(thread(n, (0, n), endpoint=None) for n in (1, 2)), partitions=3), "streams_partition_twice",
            "processes orders-0 in two threads at once: c1, c2.", id="a partition in two threads",
        ),
        pytest.param(
            pair(second={"latest_version": 12}), "streams_versions_mixed",
            "version 11, 12; 2 of 2 write an older one than 12.", id="a member supports a newer version",
        ),
        pytest.param(
            pair({"version": 9}, {"version": 9}), "streams_versions_mixed",
            "2 of 2 write an older one than 11.", id="upgrade.from is set",
        ),
        pytest.param(
            pair({"error_code": 1}, {"error_code": 1}), "streams_assignment_error",
            "has assignment error 1 (a source topic is missing).", id="a source topic is missing",
        ),
        pytest.param(
            streams_pair(AT_7, {**AT_7, "member_epoch": 6}), "streams_members_behind",
            "has 1 of 2 threads that have not taken over the assignment of epoch 7: c2.",
            id="an epoch behind that of the group",
        ),
        pytest.param(
            streams_pair(AT_7, {**AT_7, "target": TasksByRole(tasks(2))}), "streams_members_behind",
            "has 1 of 2 threads", id="a target that is not taken over",
        ),
        pytest.param(
            streams_pair(AT_7, {**AT_7, "topology_epoch": 2}), "streams_topology_mixed",
            "topologies: epochs 1, 2.", id="two topologies",
        ),
    ],
)  # fmt: skip
def test_members_that_disagree_are_found(of, code, said):
    assert found(of) == {code}
    assert said in conditions(of)[code].text


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(pair(), id="classic"),
        pytest.param(streams_pair(AT_7, AT_7), id="streams"),
        pytest.param(pair({"error_code": 2}), id="version probing is no error"),
    ],
)
def test_members_that_agree_have_no_finding(of):
    assert found(of) == set()


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        pytest.param((4, 0), "It came from h1:80.", id="one instance"),
        pytest.param((4, 4), "Members that carry the request: h1:80, h2:80.", id="several"),
        pytest.param((0, 0), "The instance that requested it has left.", id="none is left"),
    ],
)
def test_a_shutdown_names_who_requested_it_as_far_as_the_present_members_tell(asking, said):
    first, second = ({"error_code": 4, "subscription_error": one} for one in asking)
    assert said in conditions(pair(first, second))["streams_assignment_error"].text


def change(joins, generations=1, **fields):
    values = {"generations": generations, "joins": (ThreadJoins("c1", "p1", joins),)} | fields
    return json.loads(json.dumps(Change(NOW_MS, (Reason.UNKNOWN,), None, (), **values).to_json()))


def test_a_thread_that_joins_more_often_than_its_group_rebalances_is_counted():
    one = conditions(pair(), changes=[change(5), change(4)])["streams_member_flapping"]
    assert (one.value, one.evidence) == (7, {"threads": 1, "first": ["c1"]})
    assert "joined 9 times within an hour, while its group had 2 generations: c1." in one.text


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="no change"),
        pytest.param([{"form": 0, "joins": [1]}], id="of another form"),
    ],
)
def test_joins_that_were_not_watched_do_not_count(changes):
    assert "streams_member_flapping" not in conditions(pair(), changes=changes)


def test_of_rebalances_that_were_not_watched_it_is_not_known_whether_a_thread_joined_again():
    changes = [change(9, is_gap=True)]
    assert "streams_member_flapping" in not_known(pair(), changes=changes)
    found = conditions(pair(), changes=[*changes, change(3)])["streams_member_flapping"]
    assert (found.value, found.is_at_least) == (2, True)


def test_threads_of_two_instances_with_one_client_id_are_two_threads():
    first, second = thread(1, (0,)), thread(2, (0,))
    of = application(first, replace(second, client_id=first.client_id))
    assert conditions(of)["streams_partition_twice"].evidence["partitions"] == 1


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        pytest.param(
            pair(left_out=BEYOND),
            {"streams_partition_twice", "streams_versions_mixed", "streams_assignment_error"},
            id="classic beyond the limits",
        ),
        pytest.param(
            pair({"problem": "short", "version": None}),
            {"streams_partition_twice", "streams_versions_mixed", "streams_assignment_error"},
            id="bytes that cannot be read",
        ),
        pytest.param(
            streams_application(thread(1, (0,)), left_out=BEYOND),
            {"streams_partition_twice", "streams_members_behind", "streams_topology_mixed"},
            id="streams beyond the limits",
        ),
    ],
)
def test_members_that_are_not_all_seen_are_not_judged(of, codes):
    assert codes <= not_known(of)
