"""What works on clusters of real brokers, what works another way, and what does not and why."""

from dataclasses import replace

import pytest

from jobs.cluster.capabilities.reader import findings_of
from jobs.cluster.capabilities.releases import Mode
from jobs.cluster.capabilities.verdicts import ClusterVersions, Verdict
from jobs.cluster.protocol.transport.apis import BrokerVersions
from tests.jobs.cluster.capabilities.recorded import NAMES, recorded, recorded_cluster

WORKS, OTHER, LACKS, UNKNOWN = (
    Verdict.WORKS,
    Verdict.ANOTHER_WAY,
    Verdict.LACKS,
    Verdict.UNKNOWN,
)
LIST_TRANSACTIONS, PRODUCE, FETCH, METADATA, QUORUM = 66, 0, 1, 3, 55


def judged(cluster):
    return {one.code: one for one in cluster.judge()}


def mixed(**more):
    brokers = {1: recorded("3.9.1-kraft"), 2: recorded("3.9.1-kraft"), 3: recorded("4.3.1-kraft")}
    return ClusterVersions(brokers, has_topic_ids=True, **more)


@pytest.mark.parametrize("name", NAMES)
def test_whole_batches_are_copied_from_and_written_into_every_recorded_release(name):
    found = judged(recorded_cluster(name))
    assert found["copy_from"].verdict is WORKS
    into = found["copy_into"]
    assert into.verdict is (OTHER if name.startswith("2.8") else WORKS)
    if into.verdict is OTHER:
        assert "__transaction_state" in into.why
        assert "needs READ" in into.why
        assert "ListTransactions 0, which came with Kafka 3.0" in into.why


@pytest.mark.parametrize(
    ("name", "code", "verdict", "words"),
    [
        ("2.8.2-zookeeper", "topic_ids", OTHER, "fetched by name. No broker offers Metadata 12"),
        ("2.8.2-zookeeper", "open_transactions", OTHER, "reading __transaction_state"),
        ("2.8.2-zookeeper", "topic_ids", OTHER, "Metadata 12, which came with Kafka 3.1"),
        ("3.9.1-zookeeper", "consumer_groups", LACKS, "needs KRaft"),
        ("2.8.2-zookeeper", "newest_times", LACKS, "came with Kafka 3.0"),
        ("2.8.2-zookeeper", "quorum", LACKS, "runs with ZooKeeper"),
        ("2.8.2-zookeeper", "availability", WORKS, ""),
        ("3.9.1-zookeeper", "metadata_log", LACKS, "needs KRaft"),
        ("3.9.1-zookeeper", "uploaded_log", LACKS, "needs KRaft"),
        ("3.9.1-zookeeper", "acting", OTHER, "DescribeCluster 2, which came with Kafka 4.0"),
        ("3.3.2-kraft", "quorum", WORKS, ""),
        ("3.3.2-kraft", "metadata_log", OTHER, "DescribeQuorum 2, which came with Kafka 3.9"),
        ("3.9.1-kraft", "metadata_log", WORKS, ""),
        ("3.9.1-kraft", "consumer_groups", UNKNOWN, "A preview before Kafka 4.0"),
        ("3.9.1-kraft", "fenced_brokers", OTHER, "From the metadata log"),
        ("4.0.2-kraft", "fenced_brokers", WORKS, ""),
        ("4.0.2-kraft", "consumer_groups", WORKS, ""),
        ("4.0.2-kraft", "elr", LACKS, "eligible.leader.replicas.version=1"),
        ("4.0.2-kraft", "share_groups", LACKS, "came with Kafka 4.1"),
        ("4.3.1-metadata-3.9", "consumer_groups", LACKS, "group.version is not finalized"),
    ],
)
def test_a_capability_has_the_verdict_of_its_release(name, code, verdict, words):
    found = judged(recorded_cluster(name))[code]
    assert found.verdict is verdict
    assert words in found.why


def test_everything_works_on_the_newest_release():
    assert recorded_cluster("4.3.1-kraft").lacking == []


def test_topics_without_ids_are_told_although_the_brokers_offer_them():
    cluster = recorded_cluster("3.6.2-zookeeper-protocol-2.7", has_topic_ids=False)
    found = judged(cluster)
    assert found["topic_ids"].verdict is OTHER
    assert "inter.broker.protocol.version of the brokers is below 2.8" in found["topic_ids"].why
    assert found["recreated"].verdict is OTHER


def test_without_any_topic_it_is_not_known_whether_topics_get_ids():
    found = judged(recorded_cluster("3.6.2-zookeeper", has_topic_ids=None))
    assert found["topic_ids"].verdict is UNKNOWN


def test_brokers_on_two_versions_are_told_apart():
    assert mixed().text == "brokers on two versions: 1, 2 on 3.9, 3 on 4.3"


def test_a_broker_whose_version_is_not_known_is_told_beside_the_others():
    cluster = ClusterVersions(
        {1: recorded("3.9.1-kraft"), 2: recorded("3.9.1-kraft", hides=(LIST_TRANSACTIONS,))}
    )
    assert cluster.text == "brokers on two versions: 1 on 3.9, 2 on one that is not known"


def test_a_check_tells_the_versions_first_and_then_what_the_cluster_does_not_have():
    old = findings_of(recorded_cluster("2.8.2-zookeeper"))
    assert old[0].startswith("Kafka 2.8 with ZooKeeper does not have: ")
    several = findings_of(mixed())
    assert several[0] == "Brokers on two versions: 1, 2 on 3.9, 3 on 4.3."
    assert several[1].startswith("The cluster does not have: Share groups")


def test_a_level_of_features_below_1_is_not_a_metadata_version():
    assert (
        recorded_cluster("4.3.1-kraft", finalized={"metadata.version": -1}).metadata_version == ""
    )


def test_what_leaders_and_coordinators_need_must_be_on_every_broker():
    found = judged(mixed())
    assert found["share_lag"].verdict is LACKS
    assert found["share_lag"].why.startswith(
        "Brokers 1, 2 do not offer DescribeShareGroupOffsets 1"
    )
    # Any one broker may be asked for this.
    assert found["fenced_brokers"].verdict is WORKS


def test_with_a_silent_broker_nothing_is_promised_that_it_must_serve():
    cluster = mixed(silent={4: "Broker 4 did not answer in time."})
    assert cluster.text.endswith("; broker 4 did not tell")
    found = judged(cluster)
    assert found["copy_from"].verdict is UNKNOWN
    assert found["copy_from"].why == "Broker 4 did not tell whether it offers Metadata 9."
    assert found["quorum"].verdict is WORKS
    assert found["share_lag"].verdict is LACKS


def test_without_any_answer_nothing_is_known():
    cluster = ClusterVersions({}, {1: "Connection refused."})
    assert {one.verdict for one in cluster.judge()} == {UNKNOWN}
    assert cluster.text == "Kafka version not known; broker 1 did not tell"


def test_what_a_proxy_hides_does_not_work_whatever_the_release_has():
    cluster = recorded_cluster("3.6.2-kraft", hides=(LIST_TRANSACTIONS, QUORUM))
    found = judged(cluster)
    assert found["copy_into"].verdict is OTHER
    assert found["quorum"].verdict is LACKS
    assert "No broker offers DescribeQuorum 0" in found["quorum"].why
    assert cluster.contradictions() == [
        "Broker 1: it offers AddPartitionsToTxn 4 as Kafka 3.6 does, without ListTransactions 0 of Kafka "
        "3.0. Something hides versions, as a proxy does, or it is not Apache Kafka."
    ]


def test_a_hidden_request_that_tells_no_release_is_called_hidden():
    found = judged(recorded_cluster("3.9.1-kraft", hides=(QUORUM,)))["quorum"]
    assert found.why.endswith(
        "Broker 1 is Kafka 3.9, which has it since 3.3: something hides it, as a proxy does."
    )


def test_a_broker_as_old_as_2_0_is_told_which_release_is_needed():
    old = {PRODUCE: (0, 6), FETCH: (0, 8), METADATA: (0, 6), 2: (0, 3)}
    found = judged(ClusterVersions({1: BrokerVersions(old, {})}))
    assert found["copy_from"].verdict is LACKS
    assert found["copy_from"].why == "No broker offers Fetch 12, which came with Kafka 2.7."
    assert found["availability"].why == "No broker offers Metadata 9, which came with Kafka 2.4."


def test_a_broker_that_took_old_versions_away_is_not_called_too_old():
    answer = recorded("4.3.1-kraft")
    newer = BrokerVersions({**answer.ranges, FETCH: (19, 22)}, answer.features)
    found = judged(ClusterVersions({1: newer}, has_topic_ids=True))["copy_from"]
    assert "No broker offers Fetch below version 19, which crosslog does not speak." in found.why


@pytest.mark.parametrize(
    ("key", "lowest", "codes"),
    [
        pytest.param(2, 6, ["copy_from", "record_path_from", "availability"], id="ListOffsets"),
        pytest.param(10, 4, ["copy_into", "open_transactions"], id="FindCoordinator"),
    ],
)
def test_a_later_version_of_a_request_that_is_asked_in_one_alone_does_not_help(key, lowest, codes):
    answer = recorded("4.3.1-kraft")
    ranges = {**answer.ranges, key: (lowest, answer.ranges[key][1])}
    newer = replace(answer, ranges=ranges)
    found = judged(ClusterVersions({1: newer}, has_topic_ids=True))
    assert {found[code].verdict for code in codes} == {LACKS}
    assert found["groups"].verdict is WORKS


def test_features_that_no_broker_tells_are_not_called_switched_off():
    found = judged(recorded_cluster("4.3.1-kraft", finalized={}))["consumer_groups"]
    assert (found.verdict, found.why) == (
        UNKNOWN,
        "No broker tells which features are finalized.",
    )


def test_what_is_neither_zookeeper_nor_kraft_has_no_known_mode():
    cluster = recorded_cluster("3.6.2-zookeeper", hides=(4, 5, 6, 7))
    assert cluster.mode.value == "not known"
    found = judged(cluster)["uploaded_log"]
    assert (found.verdict, found.why) == (
        UNKNOWN,
        "The metadata mode is not known; this needs KRaft.",
    )


def test_a_cluster_that_migrates_has_both_modes():
    brokers = {1: recorded("3.9.1-zookeeper"), 2: recorded("3.9.1-kraft")}
    cluster = ClusterVersions(brokers, has_topic_ids=True)
    assert cluster.mode is Mode.MIGRATION
    assert judged(cluster)["quorum"].verdict is WORKS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("3.9.1-zookeeper", "", id="zookeeper"),
        pytest.param("3.9.1-metadata-3.3", "7 (Kafka 3.3)", id="behind"),
        pytest.param("4.3.1-kraft", "30 (Kafka 4.3)", id="newest"),
    ],
)
def test_the_finalized_metadata_version_is_told_with_its_release(name, text):
    assert recorded_cluster(name).metadata_version == text


def test_what_is_stored_is_read_back():
    cluster = mixed(silent={4: "No answer."})
    assert ClusterVersions.from_mapping(cluster.to_mapping()) == cluster


OLD, LAST, NEW = recorded("3.6.2-zookeeper"), recorded("3.6.2-kraft"), recorded("3.9.1-zookeeper")
HIDES = recorded("3.9.1-kraft", hides={PRODUCE})
LOW = BrokerVersions({3: (0, 2)}, {})


@pytest.mark.parametrize(
    ("brokers", "silent", "limits"),
    [
        pytest.param([], [], None, id="none has told"),
        pytest.param([NEW, NEW], [], True, id="all since 3.7"),
        pytest.param([NEW], [2], None, id="one is silent"),
        pytest.param(
            [recorded("3.9.1-kraft")], [2], True, id="a metadata.version of 3.7 is of all"
        ),
        pytest.param([recorded("3.9.1-metadata-3.3")], [2], None, id="one of 3.3 is of none"),
        pytest.param([recorded("3.9.1-metadata-3.3")], [], True, id="the release of all is known"),
        pytest.param([LAST], [], False, id="the last before 3.7"),
        pytest.param([NEW, OLD], [], False, id="an upgrade"),
        pytest.param([OLD], [2], False, id="an old one suffices"),
        pytest.param([LOW], [], False, id="older than any that is known"),
        pytest.param([BrokerVersions(HIDES.ranges, {})], [], None, id="it contradicts itself"),
    ],
)
def test_whether_leaders_limit_min_isr_follows_from_all_brokers(brokers, silent, limits):
    told = dict(enumerate(brokers))
    cluster = ClusterVersions(told, {9 + one: "It did not answer." for one in silent})
    assert cluster.limits_min_isr is limits
