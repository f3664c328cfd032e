"""What `kafka-topics.sh --describe` prints is a cluster: texts of Kafka 4.3.1, and of older versions."""

import pytest

from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.simulation import Loss, simulate

# Kafka 4.3.1, broker 2 killed, min.insync.replicas=2 in server.properties, eligible leader replicas on.
ELR_ON = """\
Topic: farm.pair\tTopicId: szaVIhbrShSqdp8s03j-Fg\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=2
\tTopic: farm.pair\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: 2\tLastKnownElr: 
Topic: farm.own\tTopicId: sSuhdMY2SF2jLltVq-qXVQ\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=1,retention.ms=1000
\tTopic: farm.own\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,3\tElr: \tLastKnownElr: 
\tTopic: farm.own\tPartition: 1\tLeader: 3\tReplicas: 2,3,1\tIsr: 1,3\tElr: \tLastKnownElr: 
Topic: elr.one\tTopicId: tH92OrhiROeWE3QoCi78uQ\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=1
\tTopic: elr.one\tPartition: 0\tLeader: none\tReplicas: 2\tIsr: \tElr: 2\tLastKnownElr: 2
"""  # noqa: W291  as the tool prints it
ONE = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1"


def only(text):
    (found,) = ClusterModel.from_json(text).partitions
    return found


@pytest.mark.parametrize(
    "text",
    [ELR_ON, ELR_ON.replace("\n", "\r\n"), ELR_ON.replace("\t", "  "), f"$ kafka-topics.sh\n\n{ELR_ON}\n$"],
    ids=["as printed", "CRLF", "blanks for tabs", "with the shell around it"],
)  # fmt: skip
def test_every_partition_is_read(text):
    model = ClusterModel.from_json(text)
    assert [
        (one.topic, one.partition, one.leader, one.isr, one.elr, one.min_insync_replicas)
        for one in model.partitions
    ] == [
        ("farm.pair", 0, 1, (1,), (2,), 2),
        ("farm.own", 0, 1, (1, 3), (), 1),
        ("farm.own", 1, 3, (3, 1), (), 1),
        ("elr.one", 0, None, (), (2,), 1),
    ]
    assert model.has_elr
    assert {id_ for id_, one in model.brokers.items() if not one.is_alive} == {2}


def test_a_dead_broker_of_the_text_does_not_come_back_by_another_loss():
    after = {
        one.topic: one.after
        for one in simulate(ClusterModel.from_json(ELR_ON), [Loss(frozenset({1}))]).overall
    }
    assert (after["farm.pair"].leader, after["farm.pair"].elr) == (None, (1, 2))
    assert after["elr.one"].leader is None


@pytest.mark.parametrize(
    ("header", "least", "unclean"),
    [
        # TopicCommand leaves out what is Kafka's own default, and prints what server.properties sets.
        ("Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: ", 1, False),
        ("Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: cleanup.policy=compact,delete,"
         "min.insync.replicas=2,unclean.leader.election.enable=true,follower.replication.throttled.replicas=0:1,1:2",
         2, True),
        ("Topic:t\tPartitionCount:1\tReplicationFactor:2\tConfigs:retention.ms=1", None, None),
        ("", None, None),
    ],
    ids=["nothing set", "all set", "of ZooKeeper, which knows topics only", "without a header"],
)  # fmt: skip
def test_settings_are_those_of_the_header(header, least, unclean):
    found = only(f"{header}\n{ONE}")
    assert (found.min_insync_replicas, found.is_unclean_allowed) == (least, unclean)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (f"{ONE}\tElr: N/A\tLastKnownElr: N/A", {"isr": (1,), "elr": ()}),
        (f"{ONE}\tOffline: 2", {"isr": (1,), "observers": ()}),
        (f"{ONE}\tOffline: 2\tObservers: 2", {"isr": (1,), "observers": (2,)}),
        (f"{ONE}\tAdding Replicas: 2\tRemoving Replicas: ", {"isr": (1,), "replicas": (1, 2)}),
        (ONE.replace("Leader: 1", "Leader: -1"), {"leader": None, "isr": (1,)}),
    ],
    ids=["without ELR", "offline replicas", "observers", "a reassignment", "no leader, before 3.0"],
)
def test_columns_of_other_versions_are_read(line, wanted):
    found = only(line)
    assert {name: getattr(found, name) for name in wanted} == wanted
