"""What a real cluster shows of an application whose members are away, and of a key in its changelog."""

import uuid

import pytest

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.streams.collection.applications import find_applications, observe
from jobs.streams.collection.changelog_search import KeyForm, SoughtKey, key_in_changelog
from tests.live.records import Record, write
from tests.live.topics import make_topic, new_topic
from tests.live.whole_batches import opened
from tests.waiting import PATIENCE, Stalls

BUDGET_S = 30.0 * PATIENCE


def commit(cluster, group: str, offsets) -> None:
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        assert alter_group_offsets(client, group, offsets) == dict.fromkeys(offsets)


async def test_an_application_without_members_is_remembered_and_shows_its_topics(east):
    application = f"app-{uuid.uuid4().hex[:8]}"
    changelog, repartition = f"{application}-sums-changelog", f"{application}-by-a-repartition"
    make_topic(east, changelog, 2, cleanup_policy="compact")
    make_topic(east, repartition, 1, retention_ms="-1")
    make_topic(east, f"{application}-eu-sums-changelog")
    write(east, changelog, [Record(0, b"k", b"v", None, 1000 * n) for n in (1, 3, 2)])
    source = TopicPartition(repartition, 0)
    commit(east, application, {source: CommittedOffset(0, "AgAA")})
    commit(east, f"{application}-eu", {source: CommittedOffset(0, "")})
    async with opened(east.connection) as cluster:
        nothing = await find_applications(cluster, budget_s=BUDGET_S)
        found = await find_applications(cluster, known={application}, budget_s=BUDGET_S)
        seen = await observe(cluster, found, application, now_ms=7, budget_s=BUDGET_S)
    assert application not in nothing.groups
    assert set(found.groups) == {application}
    assert found.faults == {}
    assert seen.faults == ()
    assert set(seen.topics) == {changelog, repartition}
    facts = seen.topics[changelog]
    assert (facts.partitions, facts.starts, facts.ends) == (2, {0: 0, 1: 0}, {0: 3, 1: 0})
    assert facts.newest_ms == {0: 3000}
    assert facts.sizes[0] > 0 == facts.sizes[1]
    assert facts.settings["cleanup.policy"] == "compact"
    assert seen.topics[repartition].settings["retention.ms"] == "-1"
    assert seen.committed == {source: CommittedOffset(0, "AgAA")}


def search(cluster, topic: str, sought: SoughtKey, partitions: int, **limits):
    with ClusterClient(cluster.connection, timeout_s=30 * PATIENCE) as client:
        return key_in_changelog(client, topic, sought, partitions, budget_s=BUDGET_S, **limits)


def test_the_last_value_of_a_key_is_found_where_it_is_expected(east):
    topic = new_topic(east, 3)
    write(east, topic, [Record(1, b"k", b"1"), Record(1, b"other", b"2"), Record(1, b"k", b"345")])
    found = search(east, topic, SoughtKey(b"k", 1), 3)
    (hit,) = found.hits
    assert (hit.partition, hit.offset, hit.key, hit.value_bytes) == (1, 2, b"k", 3)
    assert (found.read, found.unread) == ((1,), (0, 2))
    assert found.reason == "the key was found before"


def test_a_key_that_was_deleted_where_it_is_expected_is_looked_for_elsewhere(east):
    topic = new_topic(east, 3)
    write(east, topic, [Record(0, b"k", b"1"), Record(0, b"k", None), Record(2, b"k", b"1")])
    found = search(east, topic, SoughtKey(b"k", 0), 3)
    assert [(hit.partition, hit.value_bytes) for hit in found.hits] == [(0, None), (2, 1)]
    assert (found.read, found.unread, found.reason) == ((0, 1, 2), (), "")


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        pytest.param(KeyForm.WINDOW, 12, id="window"),
        pytest.param(KeyForm.SESSION, 16, id="session"),
    ],
)
def test_windows_of_a_key_are_found_by_its_bytes_and_no_longer_key(east, form, suffix):
    topic = new_topic(east)
    keys = [b"k" + bytes([n]) * suffix for n in (1, 2)]
    others = [b"kk" + bytes(suffix), b"k", b"j" + bytes(suffix)]
    write(east, topic, [Record(0, key, b"v") for key in (*keys, *others)])
    found = search(east, topic, SoughtKey(b"k", 0, form), 1)
    assert [hit.key for hit in found.hits] == keys


def test_a_search_ends_at_its_bytes_and_says_what_was_not_read(east):
    topic = new_topic(east, 2)
    write(east, topic, [Record(0, b"a", b"x" * 1000) for _ in range(10)])
    with Stalls() as stalls:
        found = search(east, topic, SoughtKey(b"k", 0), 2, largest_bytes=2000)
    assert stalls.took_s < BUDGET_S
    assert (found.hits, found.read, found.unread) == ((), (), (0, 1))
    assert found.reason == "2000 bytes were read"
    assert found.read_bytes == 2002
