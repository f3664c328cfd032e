"""Certificates for tests, made when they are needed."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM
_NOW = dt.datetime.now(dt.UTC)
_DAY = dt.timedelta(days=1)


class Authority:
    """A CA that signs for this machine."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("crosslog tests")
        self._certificate = self._sign(self._name, self._key.public_key(), [], is_ca=True)

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(_PEM).decode()

    def server(self, folder: Path, name: str = "127.0.0.1", ends=_NOW + _DAY) -> ssl.SSLContext:
        """Return a server's context with a certificate for a host name or address."""
        alternative = (
            x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
        )
        certificate, key = self._issue([alternative], ends=ends)
        file = folder / "server.pem"
        file.write_text(certificate + key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def client(self, password: bytes | None = None) -> tuple[str, str]:
        """Return a client's certificate and key."""
        return self._issue([], password)

    def _issue(self, names, password=None, ends=_NOW + _DAY) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name("somebody"), key.public_key(), names, ends=ends)
        encryption = (
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption()
        )
        text = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, encryption).decode()
        return certificate.public_bytes(_PEM).decode(), text

    def _sign(self, subject, public_key, names, *, is_ca=False, ends=_NOW + _DAY):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(ends - 30 * _DAY)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
