"""ACLs of a source topic on a real cluster with an authorizer, which is source and target at once."""

import uuid
from dataclasses import replace

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.client import ClusterClient
from tests.live.copiers import synced_topics
from tests.live.topics import admin_of, make_topic, new_topic
from tests.waiting import eventually


@pytest.fixture
def connections(secure):
    there = secure.cluster.connection
    return replace(there, alias="here"), replace(there, alias="there")


def acl(name, operation="READ", *, permission="ALLOW", pattern="LITERAL", kind="TOPIC"):
    return AclBinding(kind, pattern, name, "User:shop", "*", operation, permission)


def acls_of(client: ClusterClient, name: str) -> list[str]:
    return [str(b) for b in describe_acls(client) or () if b.name == name]


def make(client: ClusterClient, *bindings: AclBinding) -> None:
    assert create_acls(client, bindings) == dict.fromkeys(bindings)
    eventually(lambda: set(bindings) <= set(describe_acls(client, ("TOPIC", "GROUP")) or ()))


@pytest.fixture
def limited(secure):
    """Connect as `User:limited`; what it was granted is taken back, for others rely on it having no ACL."""
    yield secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    own = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        "User:limited",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    with ClusterClient(secure.cluster.connection, timeout_s=60) as client:
        admin_of(client.connection).delete_acls([own])[own].result()
        eventually(lambda: all(b.principal != "User:limited" for b in describe_acls(client) or ()))


def test_acls_of_a_replicated_topic_arrive_as_mirror_maker_makes_them(secure, connections):
    topic = new_topic(secure.cluster)
    with synced_topics(*connections, topic, sync_acls=True) as flow:
        make(flow.source, acl(topic, "ALL"), acl(topic, "WRITE"))
        make(flow.source, acl(topic, "DELETE", permission="DENY"))
        make(flow.target, extra := acl(f"here.{topic}", "DESCRIBE"))
        sync = flow.sync()
        assert sync.failures == ()
        assert sorted(change.after for change in sync.changes) == [
            "ALLOW READ to User:shop from *",
            "DENY DELETE to User:shop from *",
        ]
        eventually(lambda: len(acls_of(flow.target, f"here.{topic}")) == 3)
        assert str(extra) in acls_of(flow.target, f"here.{topic}")
        assert flow.sync().changes == ()
    assert any("ALLOW WRITE" in note.text for note in sync.notes)


def test_what_is_not_synced_is_told(secure, connections):
    topic = new_topic(secure.cluster)
    with synced_topics(*connections, topic, sync_acls=True) as flow:
        make(flow.source, acl(topic[:-1], pattern="PREFIXED"))
        make(flow.source, acl(f"g-{uuid.uuid4().hex[:8]}", kind="GROUP"))
        sync = flow.sync()
        assert acls_of(flow.target, f"here.{topic}") == []
    told = " ".join(note.text for note in sync.notes)
    assert f"names that begin with {topic[:-1]} not synced: it covers {topic}" in told
    assert "ACLs of consumer groups not synced" in told


def test_acls_are_left_alone_by_default_and_in_a_dry_run(secure, connections):
    topic = new_topic(secure.cluster)
    with synced_topics(*connections, topic) as flow:
        make(flow.source, acl(topic))
        assert flow.sync().changes == ()
    with synced_topics(*connections, topic, sync_acls=True) as flow:
        assert [change.key for change in flow.plan([topic]).changes()] == ["acl"]
        assert acls_of(flow.target, f"here.{topic}") == []


def test_a_cluster_without_an_authorizer_is_a_note(secure, connections, west):
    topic = new_topic(secure.cluster)
    with synced_topics(connections[0], west.connection, topic, sync_acls=True) as flow:
        make(flow.source, acl(topic))
        sync = flow.sync()
    assert (sync.changes, sync.failures) == ((), ())
    assert [note.text for note in sync.notes if note.key == "acl"] == [
        "The target cluster has no authorizer, so no ACL is synced."
    ]


def test_a_principal_that_may_not_read_acls_is_a_failure_and_settings_are_compared(
    secure, connections, limited
):
    topic = new_topic(secure.cluster)
    there = replace(connections[1], alias="there")
    with synced_topics(replace(limited, alias="here"), there, topic, sync_acls=True) as flow:
        rights = (acl(topic, "DESCRIBE_CONFIGS"), acl(topic, "DESCRIBE"))
        make(flow.target, *(replace(right, principal="User:limited") for right in rights))
        make_topic(secure.cluster, f"here.{topic}", 1, flush_ms="777")
        plan = flow.plan([topic])
    (failure,) = plan.failures
    assert (failure.topic, failure.key) == ("", "acl")
    assert "may not DESCRIBE the cluster" in failure.text
    assert [note.key for note in plan.notes] == ["flush.ms"]
