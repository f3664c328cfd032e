"""ACL bindings of a real cluster with an authorizer, and of one without."""

import uuid

import pytest

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import NotAuthorized, Refused
from tests.waiting import PATIENCE, eventually


def acl(name: str, *, kind: str = "TOPIC", pattern: str = "LITERAL") -> AclBinding:
    return AclBinding(kind, pattern, name, "User:shop", "*", "READ", "ALLOW")


def test_bindings_are_made_once_and_read_back_with_their_pattern(secure):
    name = f"acl-{uuid.uuid4().hex[:8]}"
    wanted = [acl(name), acl(name, pattern="PREFIXED"), acl(name, kind="GROUP")]
    with ClusterClient(secure.cluster.connection, timeout_s=30 * PATIENCE) as client:
        assert create_acls(client, wanted) == dict.fromkeys(wanted)
        assert create_acls(client, wanted) == dict.fromkeys(wanted)

        def found() -> list[AclBinding]:
            every = describe_acls(client, ("TOPIC", "GROUP"))
            return [binding for binding in every if binding.name == name]

        eventually(lambda: len(found()) >= len(wanted))  # a broker hears of them a moment later
        assert found() == sorted(wanted)
        topics = describe_acls(client)
    assert {binding.resource_type for binding in topics} == {"TOPIC"}


def test_a_cluster_without_bindings_of_a_kind_has_an_empty_list(secure):
    with ClusterClient(secure.cluster.connection, timeout_s=30 * PATIENCE) as client:
        assert describe_acls(client, ("TRANSACTIONAL_ID",)) == []


def test_a_cluster_without_an_authorizer_is_told_apart_from_one_without_bindings(west):
    with ClusterClient(west.connection, timeout_s=30 * PATIENCE) as client:
        assert describe_acls(client) is None
        assert isinstance(create_acls(client, [acl("t")])[acl("t")], Refused)


def test_a_principal_that_may_not_read_acls_is_a_fault_and_no_empty_list(secure):
    limited = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    with ClusterClient(limited, timeout_s=30 * PATIENCE) as client:
        with pytest.raises(NotAuthorized):
            describe_acls(client)
        assert isinstance(create_acls(client, [acl("t")])[acl("t")], NotAuthorized)
