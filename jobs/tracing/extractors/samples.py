"""Samples of records: shown without what is redacted, with what an extractor finds; presets that fit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from jobs.tracing.extractors.fields import Field, Place, may_be_same
from jobs.tracing.extractors.forms import BadValue, Value
from jobs.tracing.extractors.plain import Decode, PlainRecord, document_of, extract
from jobs.tracing.extractors.presets import PRESETS
from jobs.visible import visible_bytes, visible_line

REDACTED = "(redacted)"
NOT_SHOWN = "(not shown: it cannot be parsed, so nothing inside it can be redacted)"
MOST_SHOWN = 2000
LARGEST_BYTES = 1 << 20
_MOST_ENTRIES = 100
_CONTENT = (Place.KEY, Place.VALUE)
# What tells that records are of a preset, by what the preset is for.
_TELLING = {"id", "error", "steps", "status", "is_claim"}


@dataclass(frozen=True, slots=True)
class Sample:
    """A record as it is shown: `values` and `problems` by role, content as text, None: absent."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    values: dict[str, Value]
    problems: dict[str, str]
    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]


class Match(NamedTuple):
    """How many records have what a preset looks for, by role."""

    preset: str
    found: dict[str, int]


def sample_of(extractor: Extractor, record: PlainRecord, decode: Decode | None = None) -> Sample:
    """Return a record as it is shown; roles that read what is redacted have `REDACTED` for a value.

    A key or value of more than `LARGEST_BYTES` is neither read nor shown.
    """
    found = extract(extractor, _readable(record), decode)
    hidden = {
        role
        for role, fields in extractor.fields.items()
        if any(one.overlaps(other) for one in fields for other in extractor.redact)
    }
    problems = dict(found.problems)
    for role, fields in extractor.fields.items():
        if role not in found.values and any(_is_large(record, one) for one in fields):
            problems[role] = f"It is not read: there are more than {LARGEST_BYTES} bytes."
    return Sample(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp_ms,
        {r: REDACTED if r in hidden else _short(value) for r, value in found.values.items()},
        problems,
        _content(record, Place.KEY, extractor.redact, decode),
        _content(record, Place.VALUE, extractor.redact, decode),
        _headers(record, extractor.redact),
    )


def matching_presets(records: Sequence[PlainRecord], decode: Decode | None = None) -> list[Match]:
    """Return the presets whose own places are in some records, those that find most first.

    Fields that every record has, as its key or topic, tell nothing and are left out.
    """
    found = []
    for name in PRESETS:
        whole = preset_extractor(name)
        fields = {
            role: tuple(one for one in fields if one.place is Place.HEADER or one.pointer)
            for role, fields in whole.fields.items()
        }
        telling = replace(whole, fields=fields)
        counts: Counter[str] = Counter()
        for record in records:
            counts.update(extract(telling, _readable(record), decode).values.keys())
        if _TELLING & counts.keys():
            found.append(Match(name, dict(counts)))
    return sorted(found, key=lambda one: -sum(one.found.values()))


def header_counts(records: Iterable[PlainRecord]) -> dict[str, int]:
    """Return in how many records each header is: the most frequent 100, in that order."""
    counts = Counter(name for record in records for name in {name for name, _ in record.headers})
    return {visible_line(name): count for name, count in counts.most_common(_MOST_ENTRIES)}


def _readable(record: PlainRecord) -> PlainRecord:
    key = None if _is_large(record, Field(Place.KEY)) else record.key
    value = None if _is_large(record, Field(Place.VALUE)) else record.value
    return record._replace(key=key, value=value)


def _is_large(record: PlainRecord, one: Field) -> bool:
    return one.place in _CONTENT and len(getattr(record, one.place.value) or b"") > LARGEST_BYTES


def _content(
    record: PlainRecord, place: Place, redact: Iterable[Field], decode: Decode | None
) -> str | None:
    raw = getattr(record, place.value)
    if raw is not None and len(raw) > LARGEST_BYTES:
        return f"({len(raw)} bytes: not shown)"
    return _shown(raw, [one.pointer for one in redact if one.place is place], decode)


def _headers(record: PlainRecord, redact: Sequence[Field]) -> list[tuple[str, str | None]]:
    shown = record.headers[:_MOST_ENTRIES]
    found = [(visible_line(name), _header(name, raw, redact)) for name, raw in shown]
    left = len(record.headers) - len(shown)
    return [*found, (f"({left} more headers: not shown)", None)] if left else found


def _header(name: str, raw: bytes | None, redact: Iterable[Field]) -> str | None:
    pointers = [
        one.pointer
        for one in redact
        if one.place is Place.HEADER and one.name.casefold() == name.casefold()
    ]
    return _shown(raw, pointers, None)


def _shown(
    raw: bytes | None, pointers: Sequence[tuple[str, ...] | None], decode: Decode | None
) -> str | None:
    """Return content as one line of text without what the pointers mean; None as a pointer: all of it."""
    if raw is None:
        return None
    if None in pointers:
        return REDACTED
    if not pointers and (decode is None or raw[:1] != b"\0"):
        return visible_bytes(raw, MOST_SHOWN)
    try:
        document = document_of(raw, decode)
        for pointer in pointers:
            document = _without(document, pointer or ())
        text = orjson.dumps(document, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (BadValue, orjson.JSONEncodeError):
        return NOT_SHOWN if pointers else visible_bytes(raw, MOST_SHOWN)
    return visible_bytes(text, MOST_SHOWN)


def _without(document: Any, parts: Sequence[str]) -> Any:
    """Return a JSON value without what a pointer means; a text before its end is redacted, too."""
    if not parts or isinstance(document, str):
        return REDACTED
    first, rest = parts[0], parts[1:]
    if isinstance(document, dict):
        return {
            k: _without(v, rest) if may_be_same(first, str(k)) else v for k, v in document.items()
        }
    if isinstance(document, list):
        return [
            _without(one, rest) if may_be_same(first, str(at)) else one
            for at, one in enumerate(document)
        ]
    return document


def _short(value: Value) -> Value:
    if isinstance(value, list):
        return [one[:MOST_SHOWN] for one in value[:_MOST_ENTRIES]]
    return value[:MOST_SHOWN] if isinstance(value, str) else value
