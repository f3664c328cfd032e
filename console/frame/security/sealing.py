"""Secrets that people enter and that are never shown again: encrypted with a key of SECRET_KEY."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

from jobs.cluster.untrusted_text import register_secret


class NotReadable(Exception):
    """What is kept was encrypted with another SECRET_KEY: it has to be entered once more."""


def seal(values: Mapping[str, str]) -> str:
    """Return texts, encrypted (Fernet)."""
    return _keys().encrypt(json.dumps(dict(values)).encode()).decode()


def unseal(sealed: str) -> dict[str, str]:
    """Return the texts, from now on cut out of all logs; none for "". Raises `NotReadable`."""
    if not sealed:
        return {}
    try:
        values: dict[str, str] = json.loads(_keys().decrypt(sealed.encode()))
    except InvalidToken:
        raise NotReadable from None
    for text in values.values():
        register_secret(text)
    return values


def _keys() -> MultiFernet:
    texts = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_key(text)) for text in texts])


def _key(secret: str | bytes) -> bytes:
    digest = salted_hmac("crosslog.sealing", "key", str(secret), algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest)
