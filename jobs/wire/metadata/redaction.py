"""What of the metadata log nobody gets to see: it is taken out while a record is decoded.

The rule, which docs/formats.md repeats for people:

1. SCRAM credentials: salt, storedKey and serverKey.
2. Delegation tokens: tokenId, as the first 8 hex digits of its SHA-256, so that a token's records can still
   be told to belong together. (Token ids are random uuids: a digest does not give them away.)
3. The value of a config whose name looks like a secret: it holds password, passwd, passphrase, secret,
   credential, jaas, token, private, api key or access key, or its last word is key, or it is one of the two
   that Kafka itself types as passwords, certificate.chain and truststore.certificates. Not when the last word
   says that it is only about a secret: an age in ms, a number of iterations, a length, an algorithm, a
   class, a type, a location, the url of an endpoint.
4. Any config value that carries a secret: `password=...` and its like, a user with a password inside
   a url, the PEM text of a private key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

REDACTED = "(redacted)"

_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|secret|credential|jaas|token|private|api[._-]?key|access[._-]?key"
    r"|(?:^|[._-])key$|certificate\.chain$|truststore\.certificates$",
    re.IGNORECASE,
)
_ABOUT_SECRETS = re.compile(
    r"[._-](?:ms|iterations|length|algorithm|class|type|location|url)$", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"(?:password|passwd|secret|token|credentials?)[\"']?\s*[=:]\s*\S"
    r"|://[^/\s:@]+:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE",
    re.IGNORECASE,
)
_DIGEST_DIGITS = 8


def redact(record_type: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a metadata record without its secrets; the dictionary is changed in place."""
    change = _CHANGES.get(record_type)
    if change is not None:
        change(data)
    return data


def is_secret_config(name: str, value: str) -> bool:
    """Say whether the value of this config is kept from everybody: rules 3 and 4 above."""
    looks_secret = _SECRET_NAME.search(name) and not _ABOUT_SECRETS.search(name)
    return bool(looks_secret or _SECRET_VALUE.search(value))


def _redact_config(data: dict[str, Any]) -> None:
    value = data["value"]
    if value is not None and is_secret_config(data["name"], value):
        data["value"] = REDACTED


def _redact_scram(data: dict[str, Any]) -> None:
    for name in ("salt", "storedKey", "serverKey"):
        data[name] = REDACTED


def _redact_token(data: dict[str, Any]) -> None:
    digest = hashlib.sha256(data["tokenId"].encode("utf-8")).hexdigest()
    data["tokenId"] = f"(redacted {digest[:_DIGEST_DIGITS]})"


_CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "CONFIG_RECORD": _redact_config,
    "USER_SCRAM_CREDENTIAL_RECORD": _redact_scram,
    "DELEGATION_TOKEN_RECORD": _redact_token,
    "REMOVE_DELEGATION_TOKEN_RECORD": _redact_token,
}
