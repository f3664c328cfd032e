"""Which groups are applications, and what a cluster tells of many of them in one round."""

import asyncio

import pytest
from kio.schema.describe_configs.v4 import response as configs
from kio.schema.describe_log_dirs.v4 import response as log_dirs
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import response as listed
from kio.schema.offset_fetch.v8 import response as fetches

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.group_members import (
    ClassicGroup,
    ClassicMember,
    ListedGroup,
    StreamsGroup,
    StreamsSubtopology,
)
from jobs.cluster.protocol.groups.classic import read_classic_groups
from jobs.streams.collection.applications import (
    FoundApplications,
    is_application,
    may_be_application,
    observe,
    observe_all,
    topics_of,
)
from jobs.streams.observation import TopicFacts
from tests.jobs.cluster.protocol.fake_broker import (
    FIND_COORDINATOR,
    LIST_OFFSETS,
    NOW,
    OFFSET_FETCH,
    PATIENT,
    Hang,
    topic,
)
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.groups.captures import capture, scenarios
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS = 32, 35
NOW_MS = 1_795_246_261_086
# What the fake brokers answer for the three requested moments: offset and timestamp.
MOMENTS = {-2: (3, -1), -1: (10, -1), -3: (9, 1234)}
FACTS = TopicFacts(
    2, {0: 3, 1: 3}, {0: 10, 1: 10}, {0: 1234, 1: 1234}, {0: 50, 1: 50}, {"cleanup.policy": "compact"}
)  # fmt: skip


def classic(group_id, *, state="Empty", protocol="", members=()) -> ClassicGroup:
    return ClassicGroup(group_id, state, "consumer", protocol, tuple(members))


@pytest.mark.parametrize(
    ("kind", "state", "expected"),
    [
        pytest.param("classic", "Stable", True, id="with members"),
        pytest.param("", "Stable", True, id="before Kafka 3.8"),
        pytest.param("classic", "PreparingRebalance", True, id="rebalancing"),
        pytest.param("classic", "", True, id="state not reported"),
        pytest.param("classic", "Empty", False, id="empty"),
        pytest.param("consumer", "Stable", False, id="the newer protocol of consumers"),
        pytest.param("share", "Stable", False, id="share"),
    ],
)
def test_only_what_may_be_an_application_is_described(kind, state, expected):
    assert may_be_application(ListedGroup("a", "consumer", state, kind), ()) is expected


@pytest.mark.parametrize(
    ("protocol_type", "expected"),
    [
        pytest.param("consumer", True, id="its members left"),
        pytest.param("", True, id="its offsets were copied here"),
        pytest.param("connect", False, id="is another now"),
    ],
)
def test_an_empty_group_that_was_one_is_described_again(protocol_type, expected):
    group = ListedGroup("a", protocol_type, "Empty", "classic")
    assert may_be_application(group, {"a"}) is expected


@pytest.mark.parametrize(
    ("protocol", "known", "expected"),
    [
        pytest.param("stream", (), True, id="says so"),
        pytest.param("", ("a",), True, id="says nothing, was one"),
        pytest.param("", (), False, id="says nothing"),
        pytest.param("range", ("a",), False, id="is another now"),
    ],
)
def test_a_group_is_an_application_by_its_assignor_or_by_memory(protocol, known, expected):
    assert is_application(classic("a", protocol=protocol), known) is expected


@pytest.mark.parametrize("scenario", scenarios("classic_two_instances"))
def test_the_topics_of_a_real_application_are_those_that_its_members_read(scenario):
    outside, answer, version = capture(scenario, "describe_groups")
    found = topics_of(read_classic_groups(answer, version)[outside["group"]])
    assert found.faults == ()
    assert found.topics == {name.split(":")[0] for name in outside["committed"]}


def test_a_member_that_cannot_be_read_is_a_sentence_and_hides_no_other():
    broken = ClassicMember("m-1", None, "c", "/h", b"\0", b"")
    sound = ClassicMember("m-2", None, "c", "/h", b"\0\0\0\0\0\1\0\1a\0\0\0\0", b"")
    found = topics_of(classic("app", members=[broken, sound]))
    assert found.topics == {"a"}
    assert len(found.faults) == 1
    assert found.faults[0].startswith("Member m-1 of app: consumer subscription")


def test_a_topology_names_the_topics_of_a_streams_group():
    one = StreamsSubtopology("0", ("in",), ("app-r-repartition",), ("app-s-repartition",), ("c",))
    found = topics_of(StreamsGroup("app", "Stable", 1, 1, 0, (one,), ()))
    assert found.topics == {"in", "app-r-repartition", "app-s-repartition", "c"}


def offsets(asked):
    def partition(p):
        offset, timestamp = MOMENTS[p.timestamp]
        return listed.ListOffsetsPartitionResponse(
            partition_index=p.partition_index, error_code=ErrorCode.none, timestamp=timestamp,
            offset=offset, leader_epoch=0,
        )  # fmt: skip

    return listed.ListOffsetsResponse(
        throttle_time=NOW,
        topics=tuple(
            listed.ListOffsetsTopicResponse(
                name=one.name, partitions=tuple(partition(p) for p in one.partitions)
            )
            for one in asked.message.topics
        ),
    )


def commits(asked):
    def group(group_id):
        partition = fetches.OffsetFetchResponsePartitions(
            partition_index=0, committed_offset=7, metadata="AgAA", error_code=ErrorCode.none
        )
        topics = (fetches.OffsetFetchResponseTopics(name="in", partitions=(partition,)),)
        return fetches.OffsetFetchResponseGroup(
            group_id=group_id, topics=topics, error_code=ErrorCode.none
        )

    return fetches.OffsetFetchResponse(
        throttle_time=NOW, groups=tuple(group(one.group_id) for one in asked.message.groups)
    )


def settings(asked):
    def of(resource):
        one = configs.DescribeConfigsResourceResult(
            name="cleanup.policy", value="compact", read_only=False, config_source=1,
            is_sensitive=False, synonyms=(), config_type=7, documentation=None,
        )  # fmt: skip
        return configs.DescribeConfigsResult(
            error_code=ErrorCode.none, error_message=None, resource_type=2,
            resource_name=resource.resource_name, configs=(one,),
        )  # fmt: skip

    return configs.DescribeConfigsResponse(
        throttle_time=NOW, results=tuple(of(one) for one in asked.message.resources)
    )


def sizes(asked):
    topics = tuple(
        log_dirs.DescribeLogDirsTopic(
            name=one.topic,
            partitions=tuple(
                log_dirs.DescribeLogDirsPartition(
                    partition_index=number, partition_size=50, offset_lag=0, is_future_key=False
                )
                for number in one.partitions
            ),
        )
        for one in asked.message.topics
    )
    result = log_dirs.DescribeLogDirsResult(
        error_code=ErrorCode.none, log_dir="/data", topics=topics, total_bytes=1, usable_bytes=1
    )
    return log_dirs.DescribeLogDirsResponse(
        throttle_time=NOW, error_code=ErrorCode.none, results=(result,)
    )


def no_sizes(asked):
    return log_dirs.DescribeLogDirsResponse(
        throttle_time=NOW, error_code=ErrorCode.cluster_authorization_failed, results=()
    )


class World:
    """Two brokers, and two applications with a changelog each; broker 1 leads partitions 0."""

    topics = (
        topic("one-a-changelog", {0: 1, 1: 2}),
        topic("one-two-b-changelog", {0: 1, 1: 2}),
        topic("others", {0: 1}),
    )
    found = FoundApplications(
        {"one": classic("one"), "one-two": classic("one-two")},
        frozenset({"one", "one-two", "plain"}),
        {},
        (),
    )

    def observed(self, *, budget_s=60.0, by_broker=(), ask=observe_all, **asked):
        """Return what is observed, and the brokers; `by_broker` replaces answers of 1, 2."""

        async def run():
            async with brokers(2) as made:
                for broker in made:
                    broker.topics = self.topics
                    broker.offered |= {DESCRIBE_CONFIGS: (1, 4), DESCRIBE_LOG_DIRS: (1, 4)}
                    broker.answers |= {
                        FIND_COORDINATOR: coordinators(lambda _: 1),
                        LIST_OFFSETS: offsets,
                        OFFSET_FETCH: commits,
                        DESCRIBE_CONFIGS: settings,
                        DESCRIBE_LOG_DIRS: sizes,
                    }
                for broker, answers in zip(made, by_broker, strict=False):
                    broker.answers |= answers
                async with cluster_of(*made, timing=PATIENT) as cluster:
                    return await ask(
                        cluster, self.found, now_ms=NOW_MS, budget_s=budget_s, **asked
                    ), made

        return asyncio.run(run())


def test_each_application_has_its_own_topics_and_commits():
    seen, _ = World().observed()
    assert {one: set(told.topics) for one, told in seen.items()} == {
        "one": {"one-a-changelog"},
        "one-two": {"one-two-b-changelog"},
    }
    one = seen["one"]
    assert one.topics["one-a-changelog"] == FACTS
    assert one.committed == {TopicPartition("in", 0): CommittedOffset(7, "AgAA")}
    assert (one.observed_at_ms, one.generation, one.faults) == (NOW_MS, None, ())
    assert one.group_ids == {"one", "one-two", "plain"}


def test_many_applications_share_their_requests():
    _, (one, other) = World().observed()
    for broker in (one, other):
        # The beginning, the end and the newest record, for both applications at once.
        assert len(broker.of(LIST_OFFSETS)) == 3
        assert len(broker.of(DESCRIBE_LOG_DIRS)) == 1
    assert len(one.of(OFFSET_FETCH)) == 1
    assert len(one.of(DESCRIBE_CONFIGS)) + len(other.of(DESCRIBE_CONFIGS)) == 1


def test_without_sizes_no_log_directory_is_asked_for():
    seen, (one, _) = World().observed(with_sizes=False)
    assert seen["one"].topics["one-a-changelog"].sizes == {}
    assert one.of(DESCRIBE_LOG_DIRS) == []


def test_a_broker_that_hangs_costs_its_own_partitions_only():
    seen, _ = World().observed(budget_s=2.0, by_broker=({}, {LIST_OFFSETS: Hang}))
    facts = seen["one"].topics["one-a-changelog"]
    assert facts.ends == {0: 10}
    assert any("broker 2" in text for text in seen["one"].faults)


def test_a_missing_right_is_one_sentence_with_what_to_do():
    denied = {DESCRIBE_LOG_DIRS: no_sizes}
    seen, _ = World().observed(by_broker=(denied, denied))
    assert seen["one"].topics["one-a-changelog"].sizes == {}
    (text,) = seen["one"].faults
    assert "needs the operation DESCRIBE on the cluster" in text


def test_a_partition_without_a_leader_is_told_and_not_waited_for():
    class Offline(World):
        topics = (topic("one-a-changelog", {0: 1, 1: -1}),)

    seen, _ = Offline().observed()
    facts = seen["one"].topics["one-a-changelog"]
    assert (facts.partitions, facts.ends) == (2, {0: 10})
    assert seen["one"].faults == (
        "Partition one-a-changelog-1 has no leader now (LEADER_NOT_AVAILABLE). "
        "Start a broker that holds one of its replicas.",
    )


def test_a_group_that_was_not_found_raises_why():
    with pytest.raises(ClusterFault, match="Group three is no Kafka Streams application"):
        World().observed(ask=observe, application_id="three")
