"""Ask a broker for its certificate ourselves: the client library says "not verified", but not why."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from jobs.cluster.connection import Connection
from jobs.cluster.errors import TlsFailed

CONNECT_TIMEOUT_S = 3.0
_EXPIRED = 10
_NOT_YET_VALID = 9
_OTHER_NAME = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH


def certificate_fault(connection: Connection) -> TlsFailed | None:
    """Return what is wrong with the certificate of the first broker that shows a bad one, if it is plain."""
    context = ssl.create_default_context(cadata=_authorities(connection))
    context.check_hostname = connection.ssl_check_hostname
    for host, port in _servers(connection):
        try:
            with (
                socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                continue
        except ssl.SSLCertVerificationError as error:
            return _fault(connection, f"{host}:{port}", error)
        except OSError:
            continue
    return None


def _authorities(connection: Connection) -> str | None:
    return connection.ssl_ca.resolve() if connection.ssl_ca else None


def _servers(connection: Connection) -> Iterator[tuple[str, int]]:
    for server in connection.bootstrap_servers.split(","):
        host, _, port = server.rpartition(":")
        yield host.strip("[]"), int(port)


def _fault(
    connection: Connection, server: str, error: ssl.SSLCertVerificationError
) -> TlsFailed | None:
    if error.verify_code in _OTHER_NAME:
        return TlsFailed(
            f"The certificate of {server} is for another name ({error.verify_message}).",
            cluster=connection.alias,
            hint="Use a host name that is in the certificate, or switch the host name check off.",
            field="bootstrap_servers",
        )
    if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
        return TlsFailed(
            f"The certificate of {server} is not valid now ({error.verify_message}).",
            cluster=connection.alias,
            hint="Renew the broker's certificate, or correct the clock of this machine.",
            field="bootstrap_servers",
        )
    return None
