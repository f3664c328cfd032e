"""What is kept and shown without its secrets, by names of fields: for the audit trail and every list.

Path and query of an address may be a secret, and a mailbox belongs to a person: such an address is shown
without them, with a mark of eight digits. One address has one mark as long as SECRET_KEY stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.crypto import salted_hmac

from jobs.visible import known_place, without_paths

MASKED = "(secret)"
LONGEST = 2000
_SECRET_NAME = re.compile(
    r"pass(word|phrase)|secret|token(?!_url)|private|credential|authorization|jaas|user\.?info|api.?key$|"
    r"(^|[_.-])key$",
    re.IGNORECASE,
)
# What points at a secret is not one, and worth knowing: which one a cluster used before.
_REFERENCE = re.compile(r"(env|file):[\w.\-/]+")
_URL_NAME = re.compile(r"(ur[il]|hook|endpoint|callback|href|prox(y|ie)|dsn)s?$", re.IGNORECASE)
_ADDRESS_NAME = re.compile(r"((^|_)to|(^|_)links?|address(es)?|recipients?|mails?)$", re.IGNORECASE)
_URL = re.compile(
    r"([a-z][a-z0-9+.-]{0,20}://)?(?:[^/?#]*@)?([^/?#@]*)([/?#].*)?", re.IGNORECASE | re.DOTALL
)
_MAILBOX = re.compile(
    r"(?:mailto:)?([^\s@:/,;<>\"…])[^\s@:/,;<>\"…]*@(\[[^\s\]]*\]|[\w-]+(?:\.[\w-]+)*)"
)


def masked(value: Any, name: str = "") -> Any:
    """Return a value as JSON can hold it, without what its name says is a secret or an address."""
    if isinstance(value, Mapping):
        return {_key(key): masked(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [masked(inner, name) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    if _SECRET_NAME.search(name) and text and not _REFERENCE.fullmatch(text):
        return MASKED
    # An address that is cut here is still one.
    text = text[: 2 * LONGEST]
    if _URL_NAME.search(name):
        text = _shown_url(text)
    elif _ADDRESS_NAME.search(name):
        text = shown_address(text)
    return without_paths(text, mark_of)[:LONGEST]


def shown_address(address: str) -> str:
    """Return a URL as `scheme://host:port/… #mark`, a mailbox as `o…@host #mark`, anything else as it is."""
    if "://" in address:
        return _shown_url(address)
    return _MAILBOX.sub(lambda found: f"{found[1]}…@{found[2]} {mark_of(found[0])}", address)


def mark_of(address: str) -> str:
    """Return the keyed hash by which an address is recognised that is not shown."""
    return f"#{salted_hmac('crosslog.address', address, algorithm='sha256').hexdigest()[:8]}"


def _key(key: Any) -> str:
    return without_paths(str(key), mark_of)


def _shown_url(url: str) -> str:
    """Return a URL, with or without its scheme, without user, path and query."""
    found = _URL.fullmatch(url)
    if found is None:
        return without_paths(url, mark_of)
    scheme, host, rest = found[1] or "", known_place(found[2]), found[3] or ""
    is_origin = rest in {"", "/"} or rest.startswith("/… #") or not host
    return f"{scheme}{host}{rest}" if is_origin else f"{scheme}{host}/… {mark_of(url)}"
