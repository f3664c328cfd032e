"""The check on saving, against every kind of listener: the right fault at the right field."""

import contextlib
import dataclasses
import socket
import threading

import pytest

from jobs.cluster.check import CHECK_TIMEOUT_S, check_connection, field_of_fault
from jobs.cluster.errors import (
    AuthenticationFailed,
    ClusterFault,
    ClusterIdChanged,
    ProtocolMismatch,
    SeveralClusters,
    TlsFailed,
)
from tests.waiting import PATIENCE, eventually

# A machine that is busy is no fault of a connection.
WITHIN_S = 60.0


def fault_of(connection) -> ClusterFault:
    with pytest.raises(ClusterFault) as caught:
        check_connection(connection, timeout_s=WITHIN_S)
    return caught.value


def through(secure, listener, protocol, mechanism=None, **settings):
    """A connection that speaks `protocol` to the port of another listener."""
    port = secure.connection(listener, "PLAIN" if listener.startswith("SASL") else None)
    connection = secure.connection(protocol, mechanism, **settings)
    return dataclasses.replace(connection, bootstrap_servers=port.bootstrap_servers)


@contextlib.contextmanager
def relay(target: str):
    """Reach a listener under 127.0.0.2, an address that its certificate does not name."""
    host, _, port = target.rpartition(":")
    with socket.create_server(("127.0.0.2", 0)) as server:
        threading.Thread(target=_accept, args=(server, (host, int(port))), daemon=True).start()
        yield f"127.0.0.2:{server.getsockname()[1]}"


def _accept(server, address):
    with contextlib.suppress(OSError):
        while True:
            near, _ = server.accept()
            far = socket.create_connection(address)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(one, other):
    with contextlib.suppress(OSError), one, other:
        while part := one.recv(65536):
            other.sendall(part)


def test_a_good_connection_tells_the_cluster_its_brokers_and_rights(east):
    eventually(lambda: len(check_connection(east.connection, timeout_s=WITHIN_S).brokers) == 3, 20)
    check = check_connection(east.connection, timeout_s=WITHIN_S)
    assert len(check.cluster_id) == 22
    assert {broker.rack for broker in check.brokers} == {"dc-a", "dc-b", "dc-c"}


def test_the_cluster_id_that_was_registered_is_accepted(east):
    known = check_connection(east.connection, timeout_s=WITHIN_S).cluster_id
    again = dataclasses.replace(east.connection, cluster_id=known)
    assert check_connection(again, timeout_s=WITHIN_S).cluster_id == known


def test_another_cluster_behind_the_same_address_is_refused(east):
    fault = fault_of(dataclasses.replace(east.connection, cluster_id="another-cluster-id-000"))
    assert type(fault) is ClusterIdChanged
    assert "another-cluster-id-000" in fault.message


@pytest.mark.parametrize(
    ("listener", "protocol", "mechanism", "kind", "field"),
    [
        pytest.param("PLAINTEXT", "SSL", None, TlsFailed, "security_protocol", id="tls-to-plain"),
        pytest.param(
            "SSL", "PLAINTEXT", None, ProtocolMismatch, "security_protocol", id="plain-to-tls"
        ),
        pytest.param(
            "SASL_PLAINTEXT",
            "PLAINTEXT",
            None,
            ProtocolMismatch,
            "security_protocol",
            id="plain-to-sasl",
        ),
        pytest.param(
            "PLAINTEXT",
            "SASL_PLAINTEXT",
            "PLAIN",
            ProtocolMismatch,
            "security_protocol",
            id="sasl-to-plain",
        ),
        pytest.param(
            "SASL_SSL",
            "SASL_PLAINTEXT",
            "PLAIN",
            ProtocolMismatch,
            "security_protocol",
            id="sasl-without-tls",
        ),
        pytest.param(
            "SASL_PLAINTEXT",
            "SASL_SSL",
            "PLAIN",
            TlsFailed,
            "security_protocol",
            id="sasl-with-tls-to-without",
        ),
    ],
)
def test_the_wrong_security_protocol_is_told_at_its_field(
    secure, listener, protocol, mechanism, kind, field
):
    fault = fault_of(through(secure, listener, protocol, mechanism))
    assert type(fault) is kind
    assert field_of_fault(fault) == field


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_told_at_the_password_and_not_shown(secure, mechanism):
    fault = fault_of(
        secure.connection("SASL_PLAINTEXT", mechanism, password="CROSSLOG_SECRET_LAB_LIMITED")
    )
    assert type(fault) is AuthenticationFailed
    assert field_of_fault(fault) == "sasl_password"
    assert "limited-lab-password" not in str(fault)


def test_a_ca_that_did_not_sign_the_certificate_is_told_at_the_ca(secure):
    fault = fault_of(dataclasses.replace(secure.connection("SSL"), ssl_ca=None))
    assert type(fault) is TlsFailed
    assert field_of_fault(fault) == "ssl_ca"


def test_a_host_name_that_is_not_in_the_certificate_is_named(secure):
    connection = secure.connection("SSL")
    with relay(connection.bootstrap_servers) as elsewhere:
        fault = fault_of(dataclasses.replace(connection, bootstrap_servers=elsewhere))
    assert type(fault) is TlsFailed
    assert "another name" in fault.message


def test_the_host_name_check_can_be_switched_off(secure):
    connection = dataclasses.replace(secure.connection("SSL"), ssl_check_hostname=False)
    assert check_connection(connection, timeout_s=WITHIN_S).cluster_id


def test_a_principal_without_rights_gets_in_and_is_told_what_is_missing(secure):
    check = check_connection(
        secure.connection(
            "SASL_SSL", "SCRAM-SHA-512", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
        ),
        timeout_s=WITHIN_S,
    )
    assert check.operations == frozenset()
    assert any("no right on the cluster" in finding for finding in check.findings)
    assert any("No topic is visible" in finding for finding in check.findings)


def test_credentials_without_encryption_are_a_finding(secure):
    connection = secure.connection("SASL_PLAINTEXT", "PLAIN")
    check = check_connection(connection, timeout_s=WITHIN_S)
    assert any("not encrypted" in finding for finding in check.findings)


# --- one registration, one cluster ---


def beside(one, *servers):
    """The connection of a cluster with more bootstrap servers."""
    return dataclasses.replace(
        one.connection, bootstrap_servers=",".join((one.bootstrap_servers, *servers))
    )


def test_bootstrap_servers_of_two_clusters_are_refused_with_both_ids(east, west):
    fault = fault_of(beside(east, west.bootstrap_servers))
    assert type(fault) is SeveralClusters
    assert field_of_fault(fault) == "bootstrap_servers"
    for cluster in (east, west):
        server = cluster.bootstrap_servers.split(",")[0]
        assert f"{server} is cluster {cluster.identity.cluster_id}" in fault.message


def test_a_bootstrap_server_that_is_down_is_no_reason_to_refuse(east):
    check = check_connection(beside(east, "127.0.0.1:1"), timeout_s=WITHIN_S)
    assert check.cluster_id == east.identity.cluster_id


def test_a_bootstrap_server_that_hangs_does_not_hold_the_check(east):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        beside_it = beside(east, f"127.0.0.1:{silent.getsockname()[1]}")
        check = check_connection(beside_it, timeout_s=CHECK_TIMEOUT_S * PATIENCE)
    assert check.cluster_id == east.identity.cluster_id


def test_every_bootstrap_server_is_asked_with_the_security_of_the_connection(secure):
    connection = secure.connection("SASL_SSL", "SCRAM-SHA-512")
    twice = f"{connection.bootstrap_servers},{connection.bootstrap_servers}"
    again = dataclasses.replace(connection, bootstrap_servers=twice)
    assert check_connection(again, timeout_s=WITHIN_S).cluster_id
