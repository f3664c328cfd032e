"""What members of a group write beyond the bounds of one application is left out, and said."""

from dataclasses import replace

import pytest

from jobs import limits
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.group_members import ClassicMember
from jobs.streams.answers import metadata_for_key
from jobs.streams.assembly import application_of
from jobs.streams.collection.applications import topics_of
from jobs.streams.lag import restore_costs, states_of_tasks
from jobs.streams.metadata_state import NotKnowable, metadata_state
from jobs.streams.observation import Observation, TopicFacts
from jobs.streams.stored import pack_application, unpack_application
from tests.jobs.streams.written import (
    NOW_MS,
    assignment,
    assignment_info,
    group,
    member,
    subscription,
    subscription_info,
    two_processes,
)

FOUR = {"orders": TopicFacts(4)}


def observed(*members, topics=FOUR, **fields):
    return Observation(group(*members), NOW_MS, topics, {}, **fields)


def one_member(places, number=1, standby=(), tasks=None, **told):
    tasks = [(0, partition) for _, partition in places] if tasks is None else tasks
    info = assignment_info(tasks, standby)
    return member(
        number, subscription(subscription_info(number, "h:1", **told)), assignment(places, info)
    )


def orders(count, first=0):
    return [("orders", number) for number in range(first, first + count)]


def test_tasks_whose_partitions_do_not_exist_are_none():
    found = application_of(observed(one_member(orders(80_000))))
    assert [str(task) for task in found.tasks] == ["0_0", "0_1", "0_2", "0_3"]
    assert found.threads[0].now.active == tuple(found.tasks)
    assert "79,996 partitions that do not exist" in " ".join(found.cautions)
    assert not found.left_out


def test_standby_tasks_and_routes_of_such_partitions_are_none():
    copies = [((0, number), [("orders", number)]) for number in range(2, 9)]
    info = assignment_info([(0, 0)], copies, {"h:1": orders(9)}, {"h:1": orders(9)})
    found = application_of(
        observed(member(1, subscription(subscription_info(1)), assignment(orders(1), info)))
    )
    assert [str(task) for task in found.threads[0].now.standby] == ["0_2", "0_3"]
    assert {place.partition for place in found.routes[0].active} == {0, 1, 2, 3}


def test_the_first_tasks_are_kept_of_more_than_the_limit():
    found = application_of(observed(one_member(orders(10_500)), topics={}))
    assert len(found.tasks) == len(found.threads[0].now.active) == limits.TASKS
    assert found.left_out == (
        "10,500 tasks, or with too many partitions: the first 10,000 are kept.",
    )


def test_the_first_members_are_kept_of_more_than_the_limit():
    members = [one_member(orders(1), number) for number in range(1_200)]
    found = application_of(observed(*members))
    assert len(found.threads) == limits.MEMBERS
    assert found.left_out == ("1,200 members: the first 1,000 are kept.",)


def test_tasks_that_many_threads_name_are_bounded():
    members = [one_member(orders(9_000), number) for number in range(8)]
    found = application_of(observed(*members, topics={}))
    assert sum(len(one.now.active) for one in found.threads) == limits.TASK_MENTIONS
    assert "72,000 tasks named by threads" in found.left_out[0]


def test_positions_of_tasks_that_do_not_exist_are_not_kept():
    sums = [((0, number), 5) for number in range(5_000)]
    found = application_of(observed(one_member(orders(4), sums=sums)))
    assert len(found.threads[0].offset_sums) == 4


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"client_id": "c" * 32_000}, id="client id"),
        pytest.param({"member_id": "m" * 32_000}, id="member id"),
        pytest.param({"client_host": "h" * 32_000}, id="host"),
        pytest.param({"instance_id": "i" * 32_000}, id="instance id"),
    ],
)
def test_a_long_text_of_a_member_is_cut_and_said(change):
    found = application_of(observed(replace(one_member(orders(4)), **change)))
    (name,) = change
    assert len(getattr(found.threads[0], name)) == limits.TEXT
    assert "1 texts of members" in " ".join(found.cautions)


def test_long_endpoints_and_tags_are_cut_alike_in_members_and_routing():
    endpoint = f"{'h' * 400}:1"
    info = assignment_info([(0, 0)], (), {endpoint: orders(1)})
    tags = [(f"tag{n}" * 100, "v" * 5_000) for n in range(50)]
    metadata = subscription(subscription_info(1, endpoint, tags=tags))
    found = application_of(observed(member(1, metadata, assignment(orders(1), info))))
    assert found.routes[0].endpoint == found.threads[0].endpoint
    assert len(found.threads[0].tags) == limits.TAGS
    assert all(len(k) <= 255 and len(v) <= 255 for k, v in found.threads[0].tags.items())


def test_topics_that_members_name_are_asked_for_up_to_the_limit():
    metadata = subscription(subscription_info(1), topics=[f"t{n:05}" for n in range(5_000)])
    found = topics_of(group(member(1, metadata, b"")))
    assert len(found.topics) == limits.TOPICS
    assert found.faults == ("5,000 topics are read: the first 1,000 are kept.",)


def test_commits_of_topics_that_are_not_seen_are_kept_up_to_the_limit():
    committed = {TopicPartition("hidden", number): CommittedOffset(1) for number in range(60_000)}
    committed[TopicPartition("orders", 3)] = CommittedOffset(7)
    facts = replace(observed(one_member(orders(4))), committed=committed).facts
    assert len(facts.committed) == limits.PLACES + 1
    assert facts.committed[TopicPartition("orders", 3)].offset == 7


def test_cautions_about_many_members_are_counted():
    bad = [ClassicMember(f"m{n}", None, "c", "/h", b"\0\3\0", b"") for n in range(300)]
    found = application_of(observed(*bad))
    assert len(found.cautions) == limits.CAUTIONS + 1
    assert "more of such sentences" in found.cautions[-1]


def test_commits_of_partitions_that_do_not_exist_are_no_facts():
    committed = {TopicPartition("orders", number): CommittedOffset(1) for number in range(50_000)}
    seen = replace(observed(one_member(orders(4))), committed=committed)
    assert len(seen.facts.committed) == 4


def test_of_commit_metadata_that_is_too_long_stream_time_is_not_known():
    where = TopicPartition("orders", 0)
    seen = replace(
        observed(one_member(orders(4))), committed={where: CommittedOffset(7, "A" * 2_000)}
    )
    assert seen.facts.committed[where] == CommittedOffset(7)


def test_within_the_bounds_nothing_is_said():
    assert application_of(two_processes_seen()).left_out == ()


def two_processes_seen():
    return Observation(two_processes(), NOW_MS, FOUR, {})


def partial():
    """Two processes beside more members than are kept."""
    more = [one_member(orders(1), number) for number in range(10, 1_100)]
    of = two_processes()
    topics = {**FOUR, "app-totals-changelog": TopicFacts(4)}
    return application_of(
        Observation(replace(of, members=(*of.members, *more)), NOW_MS, topics, {})
    )


def test_of_a_part_nobody_says_what_the_application_answers():
    state = metadata_state(partial())
    assert isinstance(state, NotKnowable)
    assert "1,092 members" in state.reason


def test_of_a_part_no_restore_cost_is_told():
    found = partial()
    assert restore_costs(found, states_of_tasks(found, two_processes_seen().facts)) == ()


def test_of_a_part_a_task_without_thread_is_not_called_lost():
    found = replace(partial(), threads=())
    (store,) = found.stores
    answer = metadata_for_key(found, store, b"key")
    assert not any("No thread runs" in one for one in answer.cautions)
    assert any("may be left out" in one for one in answer.cautions)


def test_what_is_left_out_is_stored():
    found = partial()
    assert unpack_application(pack_application(found)).left_out == found.left_out
