"""Clusters as other tools write them, keys that were meant for others, and settings in any order."""

import itertools

import pytest

from jobs.availability.what_if.model.cluster import ClusterModel, InvalidCluster

ISR_OF_ONE = {
    "librdkafka": {"id": 0, "leader": 1, "replicas": [1, 2, 3], "isrs": [1]},
    "kcat -L -J": {
        "partition": 0, "leader": 1, "replicas": [{"id": 1}, {"id": 2}, {"id": 3}], "isrs": [{"id": 1}],
    },
    "Kafka UI": {
        "partition": 0, "leader": 1, "offsetMin": 0, "offsetMax": 9,
        "replicas": [{"broker": n, "leader": n == 1, "inSync": n == 1} for n in (1, 2, 3)],
    },
    "the REST proxy": {
        "partition": 0, "leader": 1, "replicas": [{"broker": n, "in_sync": n == 1} for n in (1, 2, 3)],
    },
    "AKHQ": {
        "id": 0, "leader": {"id": 1},
        "replicas": [{"id": n, "leader": n == 1, "inSyncReplica": n == 1} for n in (1, 2, 3)],
    },
    "marks as texts": {
        "partition": 0, "leader": 1, "replicas": [{"node_id": n, "InSync": str(n == 1)} for n in (1, 2, 3)],
    },
    "DescribeTopicPartitions": {
        "partitionIndex": 0, "leaderId": 1, "replicaNodes": [1, 2, 3], "isrNodes": [1], "leaderEpoch": 4,
        "eligibleLeaderReplicas": [2], "lastKnownElr": [], "offlineReplicas": [2],
    },
    "the Java client": {
        "partition": 0, "leader": {"id": 1, "host": "k1"}, "isr": [{"id": 1, "host": "k1"}],
        "replicas": [{"id": n, "host": f"k{n}"} for n in (1, 2, 3)],
    },
}  # fmt: skip


@pytest.mark.parametrize("partition", ISR_OF_ONE.values(), ids=ISR_OF_ONE)
@pytest.mark.parametrize(
    "around",
    [
        lambda one: {"topics": [{"topic": "orders", "partitions": [one]}]},
        lambda one: {"topics": {"orders": {"topic": "orders", "partitions": {"0": one}}}},
        lambda one: {"brokers": [1, 2, 3], "topics": [{"name": "orders", "partitions": [one]}]},
        lambda one: {"name": "orders", "internal": False, "replicas": 3, "partitions": [one]},
        lambda one: [{"name": "orders", "partitionCount": 1, "inSyncReplicas": 1, "partitions": [one]}],
    ],
    ids=["topics", "by name and number", "with brokers", "one topic", "a list of topics"],
)  # fmt: skip
def test_a_partition_is_read_as_each_tool_writes_it(partition, around):
    (found,) = ClusterModel.from_json(around(partition)).partitions
    assert (found.topic, found.partition, found.replicas) == ("orders", 0, (1, 2, 3))
    assert (found.isr, found.leader) == ((1,), 1)


def test_a_leader_of_minus_one_is_none():
    told = {"partition": 1, "leader": -1, "error": "Broker: Leader not available", "replicas": [3, 2], "isrs": [3]}  # fmt: skip
    (found,) = ClusterModel.from_json({"topics": [{"topic": "t", "partitions": [told]}]}).partitions
    assert found.leader is None


@pytest.mark.parametrize(
    "held",
    [
        {"replicas": [1, 9], "isrs": [1]},
        {"replicas": [{"broker": 1, "inSync": True}, {"broker": 9, "inSync": False}]},
    ],
    ids=["librdkafka", "Kafka UI"],
)
def test_brokers_that_metadata_of_a_client_does_not_list_are_dead(held):
    told = {"id": 0, "leader": 1, **held}
    model = ClusterModel.from_json(
        {"brokers": [{"id": 1, "host": "k1", "port": 9092}], "topics": [{"topic": "t", "partitions": [told]}]}
    )  # fmt: skip
    assert {one.broker_id: one.is_alive for one in model.brokers.values()} == {1: True, 9: False}


@pytest.mark.parametrize(
    ("partitions", "dead"),
    [
        ([{"replicas": [1, 2], "isr": [2], "leader": None}], {2}),
        ([{"replicas": [1, 2], "isr": [], "elr": [1], "leader": None}], {1}),
        ([{"replicas": [1, 2], "isr": [2], "elr": [1], "leader": 2}], {1}),
        (
            [{"replicas": [1, 2], "isr": [2], "elr": [1], "leader": 2}, {"partition": 1, "replicas": [1, 3]}],
            set(),
        ),
        ([{"replicas": [1, 2], "isr": [1], "leader": 1}], set()),
        ([{"replicas": [1, 2], "isr": [1], "leader": 1, "offlineReplicas": [2]}], {2}),
    ],
    ids=["would lead", "eligible and does not lead", "eligible and in no ISR", "in another ISR", "lags", "offline"],
)  # fmt: skip
def test_a_broker_named_by_replicas_only_is_dead_where_it_cannot_live(partitions, dead):
    model = ClusterModel.from_json({"partitions": [{"topic": "t", **one} for one in partitions]})
    assert {id_ for id_, one in model.brokers.items() if not one.is_alive} == dead


@pytest.mark.parametrize(
    ("document", "path", "meant"),
    [
        ({"partition": [{"topic": "t", "replicas": [1]}]}, "topics", "A cluster has"),
        ({"broker": {"1": "a"}, "partitions": []}, "broker", "brokers"),
        ({"voter": [1], "partitions": []}, "voter", "voters"),
        ({"topic_s": [], "partitons": []}, "partitons", "partitions"),
        ({"brokers": [{"id": 1, "fence": True}]}, "brokers[0].fence", "fenced"),
        ({"brokers": {"1": {"racks": "a"}}}, "brokers.1.racks", "rack"),
        ({"voters": [{"id": 1, "alived": False}]}, "voters[0].alived", "alive"),
        ({"topics": [{"name": "t", "observer": [1]}]}, "topics[0].observer", "observers"),
        ({"topics": [{"name": "t", "min_insync_replica": 2}]}, "topics[0].min_insync_replica", "min_insync_replicas"),
        ({"topics": [{"name": "t", "configs": {"min.insync.replica": "2"}}]},
         "topics[0].configs.min.insync.replica", "min_insync_replicas"),
        ({"partitions": [{"topic": "t", "replica": [1, 2]}]}, "partitions[0].replica", "replicas"),
        ({"partitions": [{"topic": "t", "replicas": [1], "is_r": [1], "elrs": [1]}]}, "partitions[0].elrs", "elr"),
        ({"partitions": [{"topic": "t", "replicas": [1], "insync_replica": [1]}]},
         "partitions[0].insync_replica", "in_sync_replicas"),
        ({"partitions": [{"topic": "t", "replicas": [1], "leaders": 1}]}, "partitions[0].leaders", "leader"),
        ({"partitions": [{"topic": "t", "replicas": [1], "currentIsr": [1]}]}, "partitions[0].currentIsr", "isr"),
        ({"partitions": [{"topic": "t", "replicas": [1], "in_sync_nodes": []}]}, "partitions[0].in_sync_nodes", "isr"),
        ({"partitions": [{"topic": "t", "replicas": [1], "added": [1]}]}, "partitions[0].added", "adding"),
        ({"partitions": [{"topic": "t", "replicas": [1], "remove": [1]}]}, "partitions[0].remove", "removing"),
        ({"partitions": [{"topic": "t", "replicas": [1], "leaderNode": 1}]}, "partitions[0].leaderNode", "leader"),
        ({"partitions": [{"topic": "t", "replicas": [{"id": 1, "inSyncs": False}]}]},
         "partitions[0].replicas[0].inSyncs", "in_sync"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)  # fmt: skip
def test_a_near_miss_of_a_key_that_decides_is_refused_by_name(document, path, meant):
    with pytest.raises(InvalidCluster) as refused:
        ClusterModel.from_json(document)
    assert meant in refused.value.problems[path]


def test_one_key_with_two_values_is_refused():
    with pytest.raises(InvalidCluster, match="are one key, with two values"):
        ClusterModel.from_json(
            {"partitions": [{"topic": "t", "replicas": [1], "min_isr": 1, "minIsr": 2}]}
        )


def test_a_key_that_is_there_twice_in_a_text_is_refused():
    text = '{"partitions": [{"topic": "t", "replicas": [1, 2], "isr": [1], "isr": [1, 2]}]}'
    with pytest.raises(InvalidCluster, match="The key 'isr' is there twice"):
        ClusterModel.from_json(text)


@pytest.mark.parametrize(
    "told",
    [
        {"isr": [1, 2], "isrs": [1]},
        {"leader": 1, "leaderId": 2},
        {"min_insync_replicas": 1, "min_isr": 2},
        {"unclean_allowed": True, "unclean.leader.election.enable": "false"},
        {"adding": [2], "addingReplicas": []},
    ],
    ids=" and ".join,
)
def test_two_names_of_one_key_with_two_values_are_refused(told):
    with pytest.raises(InvalidCluster, match="say the same, with two values"):
        ClusterModel.from_json({"partitions": [{"topic": "t", "replicas": [1, 2], **told}]})


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"replicas": [1, 2], "isr": None}, "A list is wanted"),
        ({"replicas": [{"id": 1, "inSync": True}, {"id": 2}]}, "some are not"),
    ],
    ids=["null", "a mark at one of two"],
)
def test_an_isr_that_is_told_by_half_is_refused(told, sentence):
    with pytest.raises(InvalidCluster, match=sentence):
        ClusterModel.from_json({"partitions": [{"topic": "t", **told}]})


@pytest.mark.parametrize(
    "told",
    [
        {"isrs": [1, 3]},
        {"isr_nodes": [1, 3]},
        {"in-sync": [1, 3]},
        {"replicas": [{"id": n, "inSync": n != 2} for n in (1, 2, 3)]},
    ],
    ids=["isrs", "isr_nodes", "in-sync", "marks"],
)
def test_a_new_replica_that_is_in_sync_stays_in_the_isr_by_any_name(told):
    told = {"topic": "t", "replicas": [1, 2, 3], "adding": [3], **told}
    (found,) = ClusterModel.from_json({"partitions": [told]}).partitions
    assert found.isr == (1, 3)


@pytest.mark.parametrize(
    "told",
    [
        {"min.insync.replicas": 2, "unclean.leader.election.enable": True},
        {"configs": {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}},
        {"config": [
            {"name": "min.insync.replicas", "value": "2"},
            {"name": "unclean.leader.election.enable", "value": "true"},
        ]},
    ],
    ids=["as keys", "as an object", "as a list"],
)  # fmt: skip
def test_settings_beside_a_partition_count(told):
    told = {"topic": "t", "replicas": [1, 2], **told}
    (found,) = ClusterModel.from_json({"partitions": [told]}).partitions
    assert (found.min_insync_replicas, found.is_unclean_allowed) == (2, True)


def test_a_document_of_very_many_keys_is_read_in_time():
    told = {"topic": "t", "replicas": [1], **{f"leader-ish {n}": n for n in range(100_000)}}
    assert ClusterModel.from_json({"partitions": [told]}).partitions


def test_words_of_reassignments_are_no_near_misses():
    told = {"topic": "t", "replicas": [1, 2], "adding": [2], "removing": [], "addingReplicas": [2], "removingReplicas": []}  # fmt: skip
    assert ClusterModel.from_json({"partitions": [told]}).partitions


# Settings


def config(kind, resource, value, name="min.insync.replicas"):
    return {"resourceType": kind, "resourceName": resource, "name": name, "value": value}


DEFAULT = config("BROKER", "", "2")
RETENTION = config("TOPIC", "orders", "9", "retention.ms")
OWN = config("TOPIC", "orders", "3")


def least(*configs, **more):
    told = {"topic": "orders", "replicas": [1, 2], **more.pop("partition", {})}
    return (
        ClusterModel.from_json({"configs": [*configs], "partitions": [told], **more})
        .partitions[0]
        .min_insync_replicas
    )


@pytest.mark.parametrize(
    ("configs", "value"),
    [
        ([], None),
        ([RETENTION], None),
        ([DEFAULT, RETENTION], 2),
        ([DEFAULT, RETENTION, OWN], 3),
        ([DEFAULT, config("BROKER", "1", "4"), config("BROKER", "2", "4")], 4),
        ([DEFAULT, config("BROKER", "1", "4")], None),
        ([DEFAULT, config("BROKER", "1", "2")], 2),
        ([config("BROKER", "1", "2")], None),
        ([DEFAULT, config("BROKER", "9", "4")], 2),
        ([OWN, config("BROKER", "1", "4")], 3),
        ([DEFAULT, DEFAULT], 2),
    ],
    ids=[
        "nothing", "another setting", "the default", "its own", "all its brokers'", "brokers differ", "brokers agree",
        "one broker's", "another broker's", "its own over brokers'", "said twice",
    ],
)  # fmt: skip
def test_the_order_of_configs_never_matters(configs, value):
    assert {least(*order) for order in itertools.permutations(configs)} == {value}


def test_what_holds_for_all_holds_for_a_topic_with_settings_of_its_own():
    assert least(RETENTION, min_insync_replicas=2) == 2
    assert least(OWN, min_insync_replicas=2) == 3


def test_a_topic_may_list_its_configs():
    told = {
        "name": "t",
        "configs": [{"name": "min.insync.replicas", "value": "2"}],
        "replicas": [1],
    }
    assert ClusterModel.from_json({"topics": [told]}).partitions[0].min_insync_replicas == 2


def test_a_setting_with_two_values_is_refused():
    with pytest.raises(
        InvalidCluster, match=r"min\.insync\.replicas is there twice, with two values"
    ):
        least(DEFAULT, config("BROKER", "", "3"))


@pytest.mark.parametrize(
    ("configs", "sentence"),
    [
        ([{"name": "min.insync.replicas", "value": "1"}, {"name": "min.insync.replicas", "value": "2"}], "two values"),
        ([{"key": "min.insync.replicas", "value": "1"}], "The name of a setting is wanted"),
        ([{"name": "min.insync.replicas", "values": "1"}], "value is wanted"),
        ([7], "An object is wanted"),
    ],
    ids=["twice", "another key", "a near miss", "a number"],
)  # fmt: skip
def test_listed_configs_of_a_topic_that_say_nothing_sure_are_refused(configs, sentence):
    topic = {"name": "t", "configs": configs, "partitions": [{"replicas": [1, 2]}]}
    with pytest.raises(InvalidCluster, match=sentence):
        ClusterModel.from_json({"topics": [topic]})
