"""The fold: transactions, topics that come back, and settings."""

import pytest

from jobs.quorum.history.changes import (
    Anomaly,
    AnomalyKind,
    Cause,
    ConfigChange,
    FeatureChange,
    PartitionChange,
    QuotaChange,
    TopicChange,
)
from jobs.quorum.image.image import MetadataImage
from tests.jobs.quorum.log_records import (
    ORDERS,
    Log,
    Spec,
    abort,
    begin,
    changes_of,
    config,
    end,
    feature,
    folded,
    no_op,
    partition,
    remove_topic,
    topic,
    uuid,
)

FOO, BAR = uuid(1), uuid(2)


# Transactions (KIP-868; upstream's MetadataBatchLoaderTest).


def test_a_transaction_takes_effect_with_the_record_that_ends_it() -> None:
    log = Log()
    log.batch(
        begin("t"),
        topic("foo", FOO),
        partition(FOO),
        no_op(),
        end(),
        begin(),
        topic("bar", BAR),
        end(),
    )
    seen = []
    image = MetadataImage()
    for one in log.records:
        image.apply(one)
        seen.append(sorted(image.topic_ids))
    assert seen == [[], [], [], [], ["foo"], ["foo"], ["foo"], ["bar", "foo"]]


def test_changes_of_a_transaction_keep_their_offsets_and_say_when_they_took_effect() -> None:
    log = Log(first_offset=0)
    log.batch(begin(), topic("foo", FOO))
    log.batch(partition(FOO))
    log.batch(end())
    found = changes_of(log.records, (TopicChange, PartitionChange))
    assert [(one.offset, one.effective_offset, one.cause) for one in found] == [
        (1, 3, Cause.TOPIC_CREATED),
        (2, 3, Cause.TOPIC_CREATED),
    ]


def test_records_before_a_transaction_are_there_while_it_is_open() -> None:
    log = Log()
    log.batch(topic("foo", FOO), begin(), topic("bar", BAR))
    image = folded(log.records)
    assert sorted(image.topic_ids) == ["foo"]
    assert image.open_transaction == 1


def test_an_aborted_transaction_leaves_nothing() -> None:
    log = Log()
    log.batch(begin(), topic("foo", FOO))
    log.batch(abort())
    log.batch(topic("bar", BAR))
    image = folded(log.records)
    assert sorted(image.topic_ids) == ["bar"]
    assert image.open_transaction is None


@pytest.mark.parametrize(
    ("specs", "topics"),
    [
        pytest.param((begin(), topic("foo", FOO), begin(), end()), ["foo"], id="begin inside"),
        pytest.param((end(), topic("foo", FOO)), ["foo"], id="end outside"),
        pytest.param((abort(), topic("foo", FOO)), ["foo"], id="abort outside"),
    ],
)
def test_a_misplaced_marker_is_an_anomaly_and_the_fold_continues(
    specs: tuple[Spec, ...], topics: list[str]
) -> None:
    log = Log()
    log.batch(*specs)
    (found,) = changes_of(log.records, Anomaly)
    assert found.anomaly is AnomalyKind.TRANSACTION
    assert sorted(folded(log.records).topic_ids) == topics


# Topics.


def test_a_topic_that_comes_back_under_its_name_is_another_topic() -> None:
    log = Log()
    log.batch(topic("orders", FOO), partition(FOO))
    log.batch(remove_topic(FOO))
    log.batch(topic("orders", BAR), partition(BAR, 0, (3, 2, 1)))
    first, gone, again = changes_of(log.records, TopicChange)
    assert (first.cause, gone.cause, again.cause) == (
        Cause.TOPIC_CREATED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_RECREATED,
    )
    assert (again.topic_id, again.previous_topic_id) == (BAR, FOO)
    state = folded(log.records).partition("orders", 0)
    assert state is not None
    assert state.leader == 3


def test_a_deleted_topic_takes_its_partitions_and_its_configs() -> None:
    log = Log()
    log.batch(topic("orders", ORDERS), config("retention.ms", "1000"), partition(ORDERS))
    log.batch(remove_topic(ORDERS))
    image = folded(log.records)
    assert (image.topics, image.partitions, image.configs) == ({}, {}, {})
    gone = [one for one in changes_of(log.records) if one.cause is Cause.TOPIC_DELETED]
    assert [type(one).__name__ for one in gone] == [
        "TopicChange",
        "PartitionChange",
        "ConfigChange",
    ]
    assert all(one.is_removed for one in gone[:2])


def test_clearing_the_elr_of_all_topics_touches_only_partitions_that_had_one() -> None:
    log = Log()
    log.batch(
        topic("foo", FOO),
        partition(FOO, 0, eligibleLeaderReplicas=[3]),
        partition(FOO, 1),
        topic("bar", BAR),
        partition(BAR, 0, lastKnownElr=[1]),
    )
    log.batch(("CLEAR_ELR_RECORD", {"topicName": ""}))
    found = [
        one for one in changes_of(log.records, PartitionChange) if one.cause is Cause.ELR_CLEARED
    ]
    assert [(one.topic, one.partition, one.partition_epoch, one.elr) for one in found] == [
        ("foo", 0, 1, ()),
        ("bar", 0, 1, ()),
    ]


def test_clearing_the_elr_of_one_topic_leaves_the_others() -> None:
    log = Log()
    log.batch(topic("foo", FOO), partition(FOO, eligibleLeaderReplicas=[3]))
    log.batch(topic("bar", BAR), partition(BAR, eligibleLeaderReplicas=[3]))
    log.batch(("CLEAR_ELR_RECORD", {"topicName": "bar"}))
    image = folded(log.records)
    assert image.partitions[FOO][0].elr == (3,)
    assert image.partitions[BAR][0].elr == ()


# Settings.


def test_settings_are_set_and_removed() -> None:
    log = Log()
    log.batch(config("retention.ms", "1000"))
    log.batch(config("retention.ms", "2000"))
    log.batch(config("retention.ms", None))
    found = changes_of(log.records, ConfigChange)
    assert [(one.previous_value, one.value, one.cause) for one in found] == [
        (None, "1000", Cause.SET),
        ("1000", "2000", Cause.SET),
        ("2000", None, Cause.REMOVED),
    ]
    assert folded(log.records).configs == {}


def test_the_default_of_all_brokers_is_the_broker_without_a_name() -> None:
    log = Log()
    log.batch(config("min.insync.replicas", "2", (4, "")))
    assert folded(log.records).configs == {("BROKER", ""): {"min.insync.replicas": "2"}}


def test_features_go_up_and_down_and_level_0_is_not_set() -> None:
    log = Log()
    for level in (1, 3, 2, 0):
        log.batch(feature("group.version", level))
    found = changes_of(log.records, FeatureChange)
    assert [one.cause for one in found] == [
        Cause.SET,
        Cause.UPGRADED,
        Cause.DOWNGRADED,
        Cause.REMOVED,
    ]
    assert folded(log.records).features == {}


def test_a_kraft_version_among_the_features_is_ignored() -> None:
    log = Log()
    log.batch(feature("kraft.version", 1))
    assert changes_of(log.records) == []
    assert folded(log.records).features == {}


def test_quotas_belong_to_an_entity_whatever_the_order_of_its_parts() -> None:
    user, client = (
        {"entityType": "user", "entityName": "ann"},
        {"entityType": "client-id", "entityName": None},
    )
    told = {"key": "producer_byte_rate", "value": 1000.0, "remove": False}
    log = Log()
    log.batch(("CLIENT_QUOTA_RECORD", told | {"entity": [user, client]}))
    log.batch(("CLIENT_QUOTA_RECORD", told | {"entity": [client, user], "remove": True}))
    first, second = changes_of(log.records, QuotaChange)
    assert first.entity == second.entity == (("client-id", None), ("user", "ann"))
    assert (first.value, second.value, second.previous_value) == (1000.0, None, 1000.0)
    assert folded(log.records).quotas == {}


def test_names_are_all_that_is_kept_of_credentials_and_tokens() -> None:
    log = Log()
    log.batch(
        ("USER_SCRAM_CREDENTIAL_RECORD", {"name": "ann", "mechanism": 2, "salt": "(redacted)"})
    )
    times = {"issueTimestamp": 1, "maxTimestamp": 3, "expirationTimestamp": 2}
    token = {"owner": "User:ann", "requester": "User:ann", "renewers": [], "tokenId": "t1", **times}
    log.batch(("DELEGATION_TOKEN_RECORD", token))
    image = folded(log.records)
    assert image.scram == {("ann", 2)}
    assert image.tokens["t1"].owner == "User:ann"
    log.batch(("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", {"name": "ann", "mechanism": 2}))
    log.batch(("REMOVE_DELEGATION_TOKEN_RECORD", {"tokenId": "t1"}))
    assert folded(log.records).is_empty


def test_acls_producer_ids_and_controllers_are_registered_and_removed() -> None:
    acl = {
        "id": uuid(9),
        "resourceType": 2,
        "resourceName": "orders",
        "patternType": 3,
        "principal": "User:ann",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }
    controller = {"controllerId": 1, "incarnationId": uuid(8), "zkMigrationReady": False}
    log = Log()
    log.batch(("ACCESS_CONTROL_ENTRY_RECORD", acl))
    log.batch(("PRODUCER_IDS_RECORD", {"brokerId": 1, "brokerEpoch": 10, "nextProducerId": 1000}))
    log.batch(("REGISTER_CONTROLLER_RECORD", controller | {"endPoints": [], "features": []}))
    image = folded(log.records)
    assert image.acls[uuid(9)].principal == "User:ann"
    assert image.producer_ids == (1000, 1)
    assert list(image.controllers) == [1]
    log.batch(("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", {"id": uuid(9)}))
    log.batch(("UNREGISTER_CONTROLLER_RECORD", {"controllerId": 1}))
    image = folded(log.records)
    assert (image.acls, image.controllers) == ({}, {})
