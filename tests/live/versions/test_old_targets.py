"""A target of Kafka 2.8.2, with ZooKeeper: what it has no requests for goes another way.

Tests of other folders are made here with that target.
"""

import uuid

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.admin.offsets import read_open_transactions
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.errors import Denied
from jobs.commands.replication.replicate import exit_code
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.copy.batches.markers import fence_flow
from jobs.replication.flow.spec import CopyPath, Guarantee
from jobs.spark import contract
from jobs.spark.contract import Outcome
from tests.live.batches.conftest import no_worker_is_left  # noqa: F401
from tests.live.batches.test_chaos import (  # noqa: F401
    test_whatever_breaks_both_sides_hold_the_same_in_the_end,
)
from tests.live.batches.test_content import (  # noqa: F401
    assert_copied,
    copy_topics,
    family,
    flow_of_family,
    topics_of,
)
from tests.live.conftest import NO_RETENTION
from tests.live.copiers import CopierProcess, copy_all, flow_between
from tests.live.records import produce
from tests.live.replication.test_checkpoints import (  # noqa: F401
    test_a_group_goes_on_exactly_where_it_stopped,
)
from tests.live.replication.test_failover import (  # noqa: F401
    copied,
    test_a_group_goes_on_at_the_target_and_skips_nothing,
    test_undoing_brings_back_what_was_there_and_what_was_not,
)
from tests.live.replication.test_topic_sync import (  # noqa: F401
    test_a_setting_changed_on_the_source_arrives_and_the_next_sync_has_nothing_to_do,
    topic,
)
from tests.live.spark.runs import RunningFlow
from tests.live.topics import admin_of, ends_of, make_topic, new_topic
from tests.live.whole_batches import Transactions, read_placed
from tests.waiting import eventually

OLD = "2.8.2"
DENIED = AclBinding(
    "TOPIC", "LITERAL", "__transaction_state", "User:ANONYMOUS", "*", "READ", "DENY"
)
WITH_ACLS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def lab(kafka, tmp_path_factory):
    def plans(base_port):
        return [
            ClusterPlan("east", 1, base_port, overrides=NO_RETENTION),
            ClusterPlan("west", 1, base_port + 100, kafka=OLD, overrides=NO_RETENTION | WITH_ACLS),
        ]

    with Lab(tmp_path_factory.mktemp("old-target"), plans(find_base_port(plans))) as lab:
        yield lab


@pytest.fixture(scope="module")
def east(lab):
    return lab.cluster("east")


@pytest.fixture(scope="module")
def west(lab):
    return lab.cluster("west")


@pytest.fixture
def small_lab(small_lab):
    """The target of the chaos is an old one: there a topic with one replica needs one in the ISR."""
    old = {"kafka": OLD, "overrides": {"min.insync.replicas": "1"}}
    return lambda alias, nodes: small_lab(alias, nodes=nodes, **(old if alias == "haven" else {}))


def test_topics_of_all_kinds_are_copied_exactly_once(east, west, family, flow_of_family):  # noqa: F811
    flow = flow_of_family()
    assert fence_flow(flow) == 0
    copy_topics(flow, east, topics_of(family))
    for name in topics_of(family):
        assert_copied(flow, east, west, name)
    assert fence_flow(flow) == 1


def test_a_copier_that_is_killed_leaves_nothing_twice_and_loses_nothing(east, west, tmp_path):
    topic = new_topic(east)  # noqa: F811
    writer = Transactions(east, topic)
    flow = flow_between(east, west, topic)
    for life in range(4):
        worker = CopierProcess(flow, tmp_path / str(life))
        worker.wait_until_begun()
        for turn in range(30):
            writer.begin()
            writer.write(5)
            writer.end(commit=turn % 3 > 0)
        worker.wait_until_copying()
        worker.kill()
    assert fence_flow(flow) == 1
    copy_all(flow, east, topic)
    assert_copied(flow, east, west, topic)


def test_a_copier_that_was_replaced_is_fenced(east, west, tmp_path):
    topic = new_topic(east)  # noqa: F811
    produce(east, topic, 100)
    flow = flow_between(east, west, topic)
    zombie = CopierProcess(flow, tmp_path / "zombie")
    zombie.wait_until_copying()
    zombie.pause()
    newer = CopierProcess(flow, tmp_path / "newer")
    newer.wait_until_begun()
    zombie.resume()
    produce(east, topic, 100)
    zombie.wait(90)
    eventually(lambda: newer.positions().get((topic, 0)) == ends_of(east, topic)[0], 60)
    newer.stop()
    assert zombie.error.startswith("ProducerFenced")
    assert_copied(flow, east, west, topic)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="whole batches, exactly once"),
        pytest.param({"path": CopyPath.RECORD}, id="record by record"),
        pytest.param({"delivery": Guarantee.AT_LEAST_ONCE}, id="at least once"),
    ],
)
def test_a_run_begins_copies_and_ends(east, west, tmp_path, settings):
    topic = new_topic(east, 2)  # noqa: F811
    produce(east, topic, 300), produce(east, topic, 200, 1)
    flow = flow_between(east, west, topic, **settings)
    with RunningFlow(flow, (tmp_path / "run").resolve()) as running:
        running.wait_for_positions(ends_of(east, topic))
        assert running.stop().outcome is Outcome.STOPPED
    assert {p: len(r) for p, r in read_placed(west, f"east.{topic}").items()} == {0: 300, 1: 200}


@pytest.mark.parametrize(
    ("records", "letters", "settings", "words"),
    [
        pytest.param(5, 249, {}, "INVALID_TOPIC_EXCEPTION", id="a name that becomes too long"),
        pytest.param(0, 249, {}, "at most 249 letters", id="a name that becomes too long, and no records"),
        pytest.param(5, 9, {"replication_factor": 3}, "Give the flow a replication_factor", id="too few brokers"),
    ],
)  # fmt: skip
def test_a_run_whose_topic_is_refused_for_good_ends_with_the_reason(
    east, west, tmp_path, records, letters, settings, words
):
    name = uuid.uuid4().hex.ljust(letters, "x")[:letters]
    make_topic(east, name, 1)
    produce(east, name, records)
    flow = flow_between(east, west, name, **settings)
    with RunningFlow(flow, (tmp_path / "run").resolve(), until_caught_up=True) as running:
        eventually(lambda: contract.read_result(running.folder), 120)
        result = contract.read_result(running.folder)
        assert (result.outcome, running.rows()[0]["state"]) == (Outcome.FAILED, "failed")
    assert words in result.error
    assert exit_code(result, until_caught_up=True) == 1


@pytest.fixture
def unread(west):
    """Deny READ on the log of transactions."""
    own = AclBindingFilter(
        ResourceType.TOPIC,
        DENIED.name,
        ResourcePatternType.LITERAL,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    with ClusterClient(west.connection, timeout_s=60) as client:
        assert create_acls(client, [DENIED]) == {DENIED: None}
        eventually(lambda: DENIED in (describe_acls(client) or ()))
        yield
        admin_of(west.connection).delete_acls([own])[own].result()
        eventually(lambda: DENIED not in (describe_acls(client) or ()))


def test_without_the_right_to_read_the_log_exactly_once_ends_and_at_least_once_copies(
    east, west, unread
):
    topic = new_topic(east)  # noqa: F811
    produce(east, topic, 30)
    with pytest.raises(Denied, match="TOPIC_AUTHORIZATION_FAILED") as raised:
        fence_flow(flow_between(east, west, topic))
    assert "READ on the topic __transaction_state" in raised.value.hint
    flow = flow_between(east, west, topic, delivery=Guarantee.AT_LEAST_ONCE)
    assert fence_flow(flow) == 0
    copy_all(flow, east, topic)
    assert len(read_placed(west, f"east.{topic}")[0]) == 30


def test_without_the_right_to_read_the_log_it_is_said_why_a_transaction_is_not_named(west, unread):
    topic = new_topic(west)  # noqa: F811
    writer = Transactions(west, topic)
    writer.begin()
    writer.write(3)
    where = TopicPartition(topic, 0)
    with ClusterClient(west.connection, timeout_s=60) as client:
        told = read_open_transactions(client, [where])[where]
    writer.end(commit=False)
    assert isinstance(told, Denied)
    assert "tell of transactions nowhere else" in told.message
    assert "READ on the topic __transaction_state" in told.hint
