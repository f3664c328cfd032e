"""What Connect keeps about its connectors: states (`mm2-status.*`) and settings (`mm2-configs.*`), JSON.

A dedicated MirrorMaker 2 has no REST interface; these two topics on the target say what one would.
Source: KafkaStatusBackingStore and KafkaConfigBackingStore of org.apache.kafka.connect.storage, with
JsonConverter without schemas. The order of JSON keys is not fixed, and newer versions add keys: unknown ones
are ignored. Values of settings that may be secrets are hidden while they are read.

A worker that writes MirrorMaker 2's records through JsonConverter turns each key and value into base64
inside JSON: `{"schema":{"type":"bytes",...},"payload":"AAdn..."}`, or a bare `"AAdn..."` without schemas.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.errors import RecordFormatError

# Longer than any key or value of MirrorMaker 2's three records, wrapped.
_LONGEST = 400_000


def is_json_wrapped(content: bytes | None) -> bool:
    """Return whether these bytes are base64 inside JSON, as JsonConverter writes bytes."""
    return unwrap_json(content) is not None


def unwrap_json(content: bytes | None) -> bytes | None:
    """Return the bytes that JsonConverter wrapped; None when it did not."""
    if content is None or len(content) > _LONGEST or content[:1] not in (b"{", b'"'):
        return None
    match _load(content):
        case str(text):
            return _decode(text)
        case {"schema": _, "payload": str(text)}:
            return _decode(text)
    return None


def _load(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


HIDDEN = "(hidden)"
_STATUS_CONNECTOR, _STATUS_TASK = "status-connector-", "status-task-"
_CONNECTOR, _TASK, _COMMIT, _TARGET_STATE = "connector-", "task-", "commit-", "target-state-"
_SECRET = re.compile(r"password|secret|credential|jaas|token|\.key$|keystore\.key", re.IGNORECASE)
_STATUS, _CONFIG = "connect status", "connect config"


@dataclass(frozen=True, slots=True)
class StatusKey:
    """Whose state it is: a connector's (`task` None) or one of its tasks'."""

    connector: str
    task: int | None = None

    def __str__(self) -> str:
        return self.connector if self.task is None else f"{self.connector} task {self.task}"


@dataclass(frozen=True, slots=True)
class ConnectStatus:
    """A state as Connect says it (RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED, RESTARTING, DESTROYED).

    `trace` is why it failed, empty when nothing is said; `worker_id` who reported.
    """

    state: str
    trace: str = ""
    worker_id: str = ""
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """Which entry of the settings: `kind` is connector, task, commit or target_state."""

    kind: str
    connector: str
    task: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectConfig:
    """An entry of the settings; what its kind does not have is empty or None.

    `properties` belong to a connector or task, `tasks` (how many) to a commit, `state` (STARTED, PAUSED,
    STOPPED) to a target state.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    tasks: int | None = None
    state: str = ""


def decode_status_key(key: bytes | None) -> StatusKey | None:
    """Read whose state a record is; None for what is neither a connector's nor a task's."""
    text = _text(_STATUS, key)
    if text.startswith(_STATUS_CONNECTOR):
        return StatusKey(_named(_STATUS, text.removeprefix(_STATUS_CONNECTOR)))
    if text.startswith(_STATUS_TASK):
        return StatusKey(*_with_task(_STATUS, text.removeprefix(_STATUS_TASK)))
    return None


def decode_status(value: bytes | None) -> ConnectStatus | None:
    """Read a state; None for a deletion. Raises `RecordFormatError`."""
    if value is None:
        return None
    document = _document(_STATUS, value)
    state = document.get("state")
    if not isinstance(state, str) or not state:
        raise RecordFormatError(_STATUS, "it has no state")
    generation = document.get("generation")
    return ConnectStatus(
        state,
        _word(document.get("trace")),
        _word(document.get("worker_id")),
        generation if _is_number(generation) else None,
    )


def decode_config_key(key: bytes | None) -> ConfigKey | None:
    """Read which entry of the settings a record is; None for other ones (session keys, restarts)."""
    text = _text(_CONFIG, key)
    if text.startswith(_TARGET_STATE):
        return ConfigKey("target_state", _named(_CONFIG, text.removeprefix(_TARGET_STATE)))
    if text.startswith(_COMMIT):
        return ConfigKey("commit", _named(_CONFIG, text.removeprefix(_COMMIT)))
    if text.startswith(_CONNECTOR):
        return ConfigKey("connector", _named(_CONFIG, text.removeprefix(_CONNECTOR)))
    if text.startswith(_TASK):
        return ConfigKey("task", *_with_task(_CONFIG, text.removeprefix(_TASK)))
    return None


def decode_config(value: bytes | None) -> ConnectConfig | None:
    """Read an entry of the settings; None for a deletion. Raises `RecordFormatError`."""
    if value is None:
        return None
    document = _document(_CONFIG, value)
    properties, tasks = document.get("properties"), document.get("tasks")
    if properties is not None and not isinstance(properties, dict):
        raise RecordFormatError(_CONFIG, "properties are no mapping")
    return ConnectConfig(
        {str(k): _shown(str(k), v) for k, v in (properties or {}).items() if v is not None},
        tasks if _is_number(tasks) else None,
        _word(document.get("state.v2") or document.get("state")),
    )


def _shown(name: str, value: object) -> str:
    return HIDDEN if _SECRET.search(name) else str(value)


def _text(kind: str, key: bytes | None) -> str:
    if key is None:
        raise RecordFormatError(kind, "it has no key")
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        raise RecordFormatError(kind, "its key is no UTF-8") from None


def _named(kind: str, connector: str) -> str:
    if not connector:
        raise RecordFormatError(kind, "its key names no connector")
    return connector


def _with_task(kind: str, rest: str) -> tuple[str, int]:
    """Cut the number off; a connector's own name may have dashes."""
    connector, _, number = rest.rpartition("-")
    if not (number.isascii() and number.isdigit()):
        raise RecordFormatError(kind, "its key has no task number")
    return _named(kind, connector), int(number)


def _document(kind: str, value: bytes) -> dict[str, Any]:
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        raise RecordFormatError(kind, "it is no JSON") from None
    if not isinstance(document, dict):
        raise RecordFormatError(kind, "it is no JSON object")
    return document


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
