"""Signatures of reports: Ed25519 over the report's canonical JSON, so that others can verify without us.

Canonical: UTF-8, keys sorted, no blanks, only texts, whole numbers, true, false and null (of RFC 8785 what
such values need). Source: RFC 8032.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

ALGORITHM = "Ed25519"
_ID_LENGTH = 16


class BadReport(ValueError):
    """A file that is no signed report, or one whose signature does not fit; the message says which."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The private key of an installation."""

    private: Ed25519PrivateKey

    @classmethod
    def from_pem(cls, pem: str) -> SigningKey:
        """Read a key (PKCS 8, not encrypted); raises ValueError when it is none, or another kind."""
        try:
            key = load_pem_private_key(pem.encode(), password=None)
        except (TypeError, ValueError):
            raise ValueError("This is no private key in PEM form.") from None
        if isinstance(key, Ed25519PrivateKey):
            return cls(key)
        raise ValueError(f"The key of reports is an Ed25519 key, not {type(key).__name__}.")

    @property
    def public_pem(self) -> str:
        """The public key, to be given to those who verify."""
        return _pem_of(self.private.public_key())

    @property
    def key_id(self) -> str:
        """The first characters of the SHA-256 of the public key, by which people compare keys."""
        return key_id_of(self.private.public_key())

    def sign(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Return the signed document of a report."""
        public = self.private.public_key()
        return {
            "report": dict(report),
            "signature": {
                "algorithm": ALGORITHM,
                "key_id": key_id_of(public),
                "public_key": base64.b64encode(_raw_of(public)).decode(),
                "value": base64.b64encode(self.private.sign(canonical(report))).decode(),
            },
        }


def canonical(report: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed; raises ValueError for a number with a fraction."""
    _refuse_fractions(report)
    text = json.dumps(report, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")


def digest_of(report: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a report, which its renderings show."""
    return hashlib.sha256(canonical(report)).hexdigest()


def verify(document: Any, public_pem: str | None = None) -> str:
    """Return the id of the key that signed a document; raises `BadReport`.

    Without a public key the one in the document counts: that proves that the report did not change since it
    was signed, and not by whom it was.
    """
    report, signature = _parts(document)
    known = _public_of(signature) if public_pem is None else _read_public(public_pem)
    try:
        known.verify(base64.b64decode(signature["value"], validate=True), canonical(report))
    except (InvalidSignature, binascii.Error, KeyError, TypeError):
        text = "The signature does not fit: the report was changed, or signed by another key."
        raise BadReport(text) from None
    return key_id_of(known)


def kept_key(path: Path) -> SigningKey:
    """Return the key at `path`, made on first use; of several that make it at once the first one wins."""
    if not path.exists():
        pem = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
    return SigningKey.from_pem(path.read_text(encoding="utf-8"))


def key_id_of(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(_raw_of(key)).hexdigest()[:_ID_LENGTH]


def _parts(document: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(document, dict):
        raise BadReport("This is no signed report: a JSON object with report and signature is.")
    report, signature = document.get("report"), document.get("signature")
    if not isinstance(report, dict) or not isinstance(signature, dict):
        raise BadReport("This is no signed report: a JSON object with report and signature is.")
    if signature.get("algorithm") != ALGORITHM:
        raise BadReport(
            f"It is signed with {signature.get('algorithm')}, and not with {ALGORITHM}."
        )
    return report, signature


def _public_of(signature: Mapping[str, Any]) -> Ed25519PublicKey:
    try:
        raw = base64.b64decode(signature["public_key"], validate=True)
        return Ed25519PublicKey.from_public_bytes(raw)
    except (KeyError, TypeError, ValueError):
        raise BadReport("The report names no public key that can be read.") from None


def _read_public(pem: str) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(pem.encode())
    except ValueError:
        raise BadReport("This is no public key in PEM form.") from None
    if isinstance(key, Ed25519PublicKey):
        return key
    raise BadReport("The public key is of another kind than Ed25519.")


def _raw_of(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _pem_of(key: Ed25519PublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _refuse_fractions(value: Any) -> None:
    if isinstance(value, float):
        text = f"{value} cannot be signed: programs write fractions in different ways."
        raise ValueError(text)  # noqa: TRY004  what is wrong is the number
    if isinstance(value, Mapping):
        for inner in value.values():
            _refuse_fractions(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_fractions(inner)
