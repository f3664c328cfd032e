"""One record value of the metadata log: its frame, its fields by the table, its secrets taken out.

Source: AbstractApiMessageSerde (the frame: version 1, apiKey, version of the record, each an unsigned
varint) and the generated JSON converters of Kafka's metadata records. The table is `schema`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import MessageReader, UnknownBytes, decode_message
from jobs.wire.messages.writer import encode_message, encode_uvarint
from jobs.wire.metadata.schema import SCHEMA_BY_API_KEY, SCHEMA_BY_TYPE

FRAME_VERSION = 1
UNKNOWN_RECORD = "UNKNOWN_RECORD"
UNDECODABLE = "UNDECODABLE"
NO_NUMBER = -1

_KIND = "metadata record"
_LARGEST_NUMBER = 32767


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One decoded record value.

    `type` is as kafka-dump-log prints it, "PARTITION_CHANGE_RECORD"; `data` holds the camelCase fields, uuids
    as base64 text, secrets redacted (`jobs.wire.metadata.records`). Tagged fields with their default are
    absent. `unknown` keeps foreign tags.

    An unknown type, or a newer version, is an UNKNOWN_RECORD with `data` {"apiKey",
    "sizeBytes"} and, of a known type, {"name"}; its body is kept in `unknown`. Bytes that are no record are
    UNDECODABLE with `data` {"problem", "sizeBytes"}, -1 standing for numbers that could not be read.
    """

    type: str
    api_key: int
    version: int
    data: dict[str, Any]
    unknown: tuple[UnknownBytes, ...] = field(default=(), repr=False)


def decode_metadata_record(value: bytes, *, strict: bool = False) -> MetadataRecord:
    """Return the record of a value.

    Lenient, it never raises. Strict raises `RecordFormatError` where Kafka itself refuses: an unknown frame,
    type or version, a field that does not fit, bytes behind the record.
    """
    api_key, version = NO_NUMBER, NO_NUMBER
    try:
        reader = MessageReader(_KIND, value)
        _read_frame(reader)
        api_key = _read_number(reader, "type")
        version = _read_number(reader, "version")
        return _decode_body(value, reader.at, api_key, version, strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        told = {"problem": str(error), "sizeBytes": len(value)}
        kept = (UnknownBytes("", None, bytes(value)),)
        return MetadataRecord(UNDECODABLE, api_key, version, told, kept)


def encode_metadata_record(
    type: str,  # noqa: A002  the word of kafka-dump-log, as in MetadataRecord
    version: int,
    data: Mapping[str, Any],
    foreign_tags: Mapping[int, bytes] | None = None,
) -> bytes:
    """Return a record value with its frame; raises ValueError for an unknown type, version or field."""
    schema = SCHEMA_BY_TYPE.get(type)
    if schema is None:
        raise ValueError(f"there is no record type {type}")
    frame = encode_uvarint(FRAME_VERSION) + encode_uvarint(schema.number) + encode_uvarint(version)
    return frame + encode_message(schema, version, data, foreign_tags)


def _read_frame(reader: MessageReader) -> None:
    version = reader.uvarint()
    if version == 0:
        raise reader.problem("has the frame version 0, that of the preview in Kafka 2.8")
    if version != FRAME_VERSION:
        raise reader.problem(f"has the frame version {version}, only {FRAME_VERSION} is known")


def _read_number(reader: MessageReader, what: str) -> int:
    number = reader.uvarint()
    if number > _LARGEST_NUMBER:
        raise reader.problem(f"its {what} {number} is larger than {_LARGEST_NUMBER}")
    return number


def _decode_body(
    value: bytes, at: int, api_key: int, version: int, *, strict: bool
) -> MetadataRecord:
    schema = SCHEMA_BY_API_KEY.get(api_key)
    if schema is not None and schema.oldest <= version <= schema.latest:
        found, unknown = decode_message(schema, version, value, at)
        return MetadataRecord(schema.type, api_key, version, redact(schema.type, found), unknown)
    if strict:
        name = f"{schema.type} has no" if schema else f"the type {api_key} is unknown, with"
        raise RecordFormatError(_KIND, f"{name} version {version}")
    told: dict[str, Any] = {"apiKey": api_key, "sizeBytes": len(value) - at}
    if schema is not None:
        told["name"] = schema.type
    kept = (UnknownBytes("", None, bytes(value[at:])),)
    return MetadataRecord(UNKNOWN_RECORD, api_key, version, told, kept)


# Secrets of the metadata log: they are redacted while a record is decoded.
#
# The rule, which docs/formats.md repeats for people:
#
# 1. SCRAM credentials: salt, storedKey and serverKey.
# 2. Delegation tokens: tokenId, as the first 8 hex digits of its SHA-256, so that a token's records can still
#    be matched to each other. (Token ids are random uuids: a digest does not give them away.)
# 3. The value of a config whose name looks like a secret: it holds password, passwd, passphrase, secret,
#    credential, jaas, token, private, api key or access key, or its last word is key, or it is one of the two
#    that Kafka itself types as passwords, certificate.chain and truststore.certificates. Not when the last
#    word says that it is only about a secret: an age in ms, a number of iterations, a length, an algorithm, a
#    class, a type, a location, the url of an endpoint.
# 4. Any config value that carries a secret: `password=...` and its like, a user with a password inside
#    a url, the PEM text of a private key.

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
