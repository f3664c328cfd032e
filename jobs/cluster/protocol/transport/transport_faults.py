"""Name what went wrong on the way to a broker, in the words that the rest of crosslog uses."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import NamedTuple

from jobs.cluster.errors import (
    ClusterFault,
    NameNotResolved,
    ProtocolMismatch,
    Remedy,
    TimedOut,
    TlsFailed,
    Unreachable,
)
from jobs.cluster.protocol.errors import ConnectionLost, VersionNotOffered
from jobs.cluster.protocol.transport.apis import SupportedApi

_OUTDATED = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_OTHER_NAME = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_ADVERTISED = (
    " This address comes from the broker itself (advertised.listeners), "
    "not from the bootstrap servers."
)
# What OpenSSL says when the other side does not like our certificate, or the lack of one.
_CLIENT_CERTIFICATE_ALERTS = (
    "ALERT_BAD_CERTIFICATE",
    "ALERT_CERTIFICATE_REQUIRED",
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_UNKNOWN",
    "ALERT_CERTIFICATE_EXPIRED",
    "ALERT_CERTIFICATE_REVOKED",
    "ALERT_UNSUPPORTED_CERTIFICATE",
)


class Server(NamedTuple):
    """Where a broker listens; `broker_id` is None for an address of the bootstrap list."""

    host: str
    port: int
    broker_id: int | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        broker = "" if self.broker_id is None else f" (broker {self.broker_id})"
        return f"{host}:{self.port}{broker}"


def connect_fault(error: OSError, server: Server, cluster: str) -> ClusterFault:
    """Return the fault for an error while connecting or shaking hands."""
    if isinstance(error, ssl.SSLError):
        return tls_fault(error, server, cluster)
    advertised = "" if server.broker_id is None else _ADVERTISED
    if isinstance(error, socket.gaierror):
        message = f"Host name not found: {server}.{advertised}"
        return NameNotResolved(message, cluster=cluster)
    if isinstance(error, ConnectionRefusedError):
        message = f"Connection refused: {server}.{advertised}"
        return Unreachable(message, cluster=cluster)
    if isinstance(error, ConnectionResetError):
        return closed_in_handshake(server, cluster)
    reason = error.strerror or errno.errorcode.get(error.errno or 0, str(error))
    return Unreachable(f"{server} cannot be reached ({reason}).{advertised}", cluster=cluster)


def tls_fault(error: ssl.SSLError, server: Server, cluster: str) -> TlsFailed:
    """Return the fault for an error of OpenSSL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_fault(error, server, cluster)
    reason = error.reason or "no reason given"
    if isinstance(error, ssl.SSLEOFError):
        return _closed_in_tls(reason, server, cluster)
    if reason.endswith(_CLIENT_CERTIFICATE_ALERTS):
        fault = TlsFailed(
            f"{server} does not accept the client certificate ({reason}).",
            cluster=cluster,
            hint="The listener wants a client certificate that its truststore knows.",
            field="ssl_certificate",
        )
        fault.remedy = Remedy.OPERATOR
        return fault
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return TlsFailed(
            f"{server} does not speak TLS.",
            cluster=cluster,
            hint="Choose a security protocol without SSL, or the port of the TLS listener.",
        )
    return TlsFailed(f"The TLS handshake with {server} failed ({reason}).", cluster=cluster)


def _closed_in_tls(reason: str, server: Server, cluster: str) -> TlsFailed:
    fault = TlsFailed(
        f"{server} closes the connection in the TLS handshake ({reason}).",
        cluster=cluster,
        hint="Check that the port is a TLS listener; a broker that is stopping does the same.",
    )
    fault.remedy = Remedy.DOUBTFUL
    return fault


def _certificate_fault(
    error: ssl.SSLCertVerificationError, server: Server, cluster: str
) -> TlsFailed:
    fault = _unfit_certificate(error, server, cluster)
    # Certificates and authorities are renewed under a flow that works.
    fault.remedy = Remedy.OPERATOR if error.verify_code in _OUTDATED else Remedy.DOUBTFUL
    return fault


def _unfit_certificate(
    error: ssl.SSLCertVerificationError, server: Server, cluster: str
) -> TlsFailed:
    if error.verify_code in _OTHER_NAME:
        return TlsFailed(
            f"The certificate of {server} is for another name ({error.verify_message}).",
            cluster=cluster,
            hint="Use a host name that is in the certificate, or switch the host name check off.",
            field="bootstrap_servers",
        )
    if error.verify_code in _OUTDATED:
        return TlsFailed(
            f"The certificate of {server} is not valid now ({error.verify_message}).",
            cluster=cluster,
            hint="Renew the broker's certificate, or correct the clock of this machine.",
            field="bootstrap_servers",
        )
    return TlsFailed(
        f"The certificate of {server} is not trusted ({error.verify_message}).",
        cluster=cluster,
        hint="Give the CA that signed the broker's certificate (PEM).",
        field="ssl_ca",
    )


def connect_timed_out(server: Server, cluster: str, timeout_s: float) -> TimedOut:
    """Return the fault for a server that did not get through the handshakes in time."""
    return TimedOut(
        f"{server} did not finish the connection within {timeout_s:g} s.",
        cluster=cluster,
        hint="The broker hangs or is overloaded, a firewall swallows packets, or the port is not Kafka's.",
    )


def closed_in_handshake(server: Server, cluster: str) -> ProtocolMismatch:
    """Return the fault for a connection that was closed before the first answer.

    A broker that is just stopping does the same, so it is tried again.
    """
    fault = ProtocolMismatch(
        f"{server} closes the connection before it answers.",
        cluster=cluster,
        hint="The listener probably expects TLS or SASL: compare the security protocol with the broker's "
        "listeners. A broker that is stopping, or a proxy without one, does the same.",
    )
    fault.remedy = Remedy.DOUBTFUL
    return fault


def not_kafka(server: Server, cluster: str, reason: str) -> ProtocolMismatch:
    """Return the fault for bytes that cannot be Kafka's."""
    return ProtocolMismatch(
        f"{server} answers, but not in Kafka's protocol ({reason}).",
        cluster=cluster,
        hint="Check the port: another kind of server listens there, or a TLS listener.",
    )


def connection_lost(
    error: OSError | None, server: Server, cluster: str, *, may_have_arrived: bool
) -> ConnectionLost:
    """Return the fault for a connection that ended; `error` is None when the broker closed it."""
    reason = "the broker closed it" if error is None else (error.strerror or str(error))
    fault = ConnectionLost(f"The connection to {server} was lost ({reason}).", cluster=cluster)
    fault.may_have_arrived = may_have_arrived
    return fault


def lost_before_any_answer(
    error: OSError | None, server: Server, cluster: str, asked: str
) -> ConnectionLost:
    """Return the fault for a connection that ended with the first request, `asked`.

    Every listener answers ApiVersions; one that expects SASL closes the connection after that.
    """
    fault = connection_lost(error, server, cluster, may_have_arrived=True)
    fault.remedy = Remedy.DOUBTFUL
    fault.hint = (
        "The broker was stopped, or the listener expects SASL: if it happens again and again, compare the "
        "security protocol with the broker's listeners."
    )
    if asked:
        fault.hint += f" A broker or proxy that offers {asked} without serving it does the same."
    return fault


def not_offered(
    server: Server, cluster: str, speaks: SupportedApi, offered: tuple[int, int] | None
) -> VersionNotOffered:
    """Return the fault for a request that broker and crosslog have in no common version."""
    address = str(server._replace(broker_id=None))
    broker = address if server.broker_id is None else f"Broker {server.broker_id} ({address})"
    came = f", which came with Kafka {speaks.since}"
    hint = (
        f"Update the cluster to Kafka {speaks.since} or newer, or look for a proxy that hides the request. "
        "The cluster's page has what works another way."
    )
    if offered is None:
        text = f"{broker} does not know the request {speaks.name}{came}."
    else:
        known, ours = "{} to {}".format(*offered), ", ".join(map(str, speaks.versions))
        text = f"{broker} offers {speaks.name} in versions {known}, crosslog speaks {ours}"
        if offered[1] < speaks.versions[-1]:
            text += f": version {speaks.versions[-1]} is needed{came}"
        else:
            hint = "Update crosslog: the cluster is newer than what it knows."
        text += "."
    fault = VersionNotOffered(text, cluster=cluster, hint=hint)
    fault.speaks = speaks
    return fault
