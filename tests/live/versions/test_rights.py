"""Rights of each version's authorizer: ACLs listed as its own tool lists them, synced, and felt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.check import check_connection
from jobs.cluster.client import ClusterClient
from jobs.lab.security import USERS
from tests.live.conftest import SecureCluster
from tests.live.copiers import synced_topics
from tests.live.topics import new_topic
from tests.live.versions.versions import ACLS, tool
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)


def acl(name: str, operation: str = "READ", principal: str = "User:shop") -> AclBinding:
    return AclBinding("TOPIC", "LITERAL", name, principal, "*", operation, "ALLOW")


def make(client: ClusterClient, *bindings: AclBinding) -> None:
    assert create_acls(client, bindings) == dict.fromkeys(bindings)
    eventually(lambda: set(bindings) <= set(describe_acls(client, ("TOPIC", "GROUP")) or ()))


@pytest.mark.capability("ACLs")
def test_acls_are_those_of_the_versions_own_tool(cluster):
    topic = new_topic(cluster)
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        make(client, acl(topic, "READ"), acl(topic, "WRITE"))
        found = [one for one in describe_acls(client) or () if one.name == topic]
    said = tool(cluster, ACLS, "--list", "--topic", topic)
    assert sorted(one.operation for one in found) == ["READ", "WRITE"]
    assert all(f"operation={one.operation}" in said for one in found)


@pytest.mark.capability("ACLs synced")
def test_acls_of_a_topic_are_synced_to_its_copy(cluster):
    here, there = (replace(cluster.connection, alias=alias) for alias in ("here", "there"))
    topic = new_topic(cluster)
    with synced_topics(here, there, topic, sync_acls=True) as flow:
        make(flow.source, acl(topic, "READ"), acl(topic, "WRITE"))
        sync = flow.sync()
        assert [change.after for change in sync.changes] == ["ALLOW READ to User:shop from *"]
        assert sync.failures == ()
        eventually(lambda: flow.sync().changes == (), 60)


@pytest.mark.capability("Rights")
def test_a_principal_without_rights_is_told_so_at_registration(cluster, monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_LAB_LIMITED", USERS["limited"])
    monkeypatch.setenv("CROSSLOG_SECRET_LAB_CA", SecureCluster(cluster).ca)
    limited = SecureCluster(cluster).connection(
        "SASL_SSL", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    found = check_connection(limited, timeout_s=60)
    assert found.operations == frozenset()
    assert any("no right on the cluster itself" in text for text in found.findings)
    assert any("No topic is visible" in text for text in found.findings)
