"""Forms of values: how bytes or JSON values become a text, a list of texts or a number."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from jobs.wire.values import LATEST_MS

# A value that was read; None: absent.
Value = str | int | list[str] | None
LARGEST = 2**63 - 1
_INT32_BYTES, _INT64_BYTES, _UUID_BYTES = 4, 8, 16
_MOST_INTEGER_BYTES = 8
_MOST_DIGITS = 20
_TRACE_PARTS = 4
_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


class BadValue(ValueError):
    """A value that has not the form; the message is a sentence without the value."""


def _text(raw: Any) -> str | list[str] | None:
    """Return a text; of a JSON list a list of texts. Bytes that are no UTF-8 are replaced."""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "replace")
    if isinstance(raw, list):
        return [text for one in raw if (text := _scalar(one)) is not None]
    return _scalar(raw)


def _scalar(raw: Any) -> str | None:
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int):
        return str(raw)
    try:
        return orjson.dumps(raw).decode()
    except orjson.JSONEncodeError:
        raise BadValue("It is nested too deep for a text.") from None


def _one_text(raw: Any) -> str | None:
    found = _text(raw)
    return (found[0] if found else None) if isinstance(found, list) else found


def _csv(raw: Any) -> list[str] | None:
    found = _text(raw)
    if isinstance(found, str):
        return [part.strip() for part in found.split(",") if part.strip()]
    return found


def _endpoints(raw: Any) -> list[str] | None:
    """Return names of topics out of Camel's endpoints: `kafka:orders?brokers=...` is `orders`."""
    found = _csv(raw)
    return found and [one.partition("?")[0].rpartition(":")[2].lstrip("/") for one in found]


def _integer(raw: Any) -> int | None:
    if isinstance(raw, bool):
        raise BadValue("It is no whole number.")
    text = raw if isinstance(raw, int) else _one_text(raw)
    if text is None or text == "":
        return None
    try:
        number = int(text) if isinstance(text, int) or len(text) <= _MOST_DIGITS else LARGEST + 1
    except ValueError:
        raise BadValue("It is no whole number.") from None
    if abs(number) > LARGEST:
        raise BadValue("It is no whole number of 64 bits.")
    return number


def _fixed(size: int) -> Callable[[Any], int | None]:
    def read(raw: Any) -> int | None:
        if not isinstance(raw, bytes):
            return _integer(raw)
        if len(raw) != size:
            raise BadValue(f"It has {len(raw)} bytes; {size} are expected.")
        return int.from_bytes(raw, "big", signed=True)

    return read


def _big_endian(raw: Any) -> int | None:
    """Return a number of 1 to 8 bytes, as Java's BigInteger writes it."""
    if isinstance(raw, bytes) and 0 < len(raw) <= _MOST_INTEGER_BYTES:
        return int.from_bytes(raw, "big", signed=True)
    raise BadValue("It is no number of 1 to 8 bytes.")


def _flag(raw: Any) -> int | None:
    """Return 1 for a byte or word that says yes, 0 for one that says no."""
    if isinstance(raw, bytes) and len(raw) == 1 and raw[0] <= 1:
        return raw[0]
    text = (_one_text(raw) or "").lower()
    return int(text in {"true", "1", "yes"})


def _uuid(raw: Any) -> str | None:
    if isinstance(raw, bytes) and len(raw) == _UUID_BYTES:
        return str(uuid.UUID(bytes=raw))
    text = _one_text(raw)
    try:
        return text and str(uuid.UUID(text))
    except ValueError:
        raise BadValue("It is no UUID.") from None


def _trace(index: int, digits: int) -> Callable[[Any], str | None]:
    def read(raw: Any) -> str | None:
        parts = (_one_text(raw) or "").split("-")
        if len(parts) < _TRACE_PARTS or len(parts[index]) != digits or not parts[index].strip("0"):
            raise BadValue("It is no traceparent of W3C Trace Context.")
        return parts[index].lower()

    return read


def _class_name(raw: Any) -> str | None:
    """Return the class of Java's `Throwable.toString()`: what is before the first colon."""
    text = _one_text(raw)
    return text and text.partition(":")[0].strip()


def _failure(raw: Any) -> str | None:
    text = _one_text(raw)
    return None if text is None or text.upper() == "SUCCESS" else text


def _flagged_uri(raw: Any) -> str | None:
    """Return the URI behind a first byte of 1; None for content that is inline (first byte 0)."""
    if not isinstance(raw, bytes) or not raw or raw[0] > 1:
        raise BadValue("It does not begin with a flag byte of 0 or 1.")
    return _one_text(raw[1:]) if raw[0] == 1 else None


def checked_ms(ms: float) -> None:
    """Raise `BadValue` for a time whose differences or dates are no numbers or dates any more."""
    if not 0 <= ms <= LATEST_MS:
        raise BadValue("It is no time from 1970 to 9999.")


def _since_1970(per_ms: float) -> Callable[[Any], int | None]:
    def read(raw: Any) -> int | None:
        number = raw if isinstance(raw, float) else _integer(raw)
        if number is None:
            return None
        checked_ms(number * per_ms)
        return round(number * per_ms) if isinstance(raw, float) else int(number * per_ms)

    return read


def _iso(raw: Any) -> int | None:
    text = _one_text(raw)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadValue("It is no time as ISO 8601 writes it.") from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def moment_ms(raw: Any) -> int | None:
    """Return a time in ms: of a number since 1970 in ms, of a text in ISO 8601."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return int(raw)
    text = _one_text(raw)
    return _integer(text) if text and text.lstrip("-").isdigit() else _iso(text)


FORMS: Mapping[str, Callable[[Any], Value]] = {
    "text": _text,
    "csv": _csv,
    "endpoints": _endpoints,
    "int": _integer,
    "int32": _fixed(_INT32_BYTES),
    "int64": _fixed(_INT64_BYTES),
    "big_endian": _big_endian,
    "flag": _flag,
    "uuid": _uuid,
    "trace_id": _trace(1, _TRACE_DIGITS),
    "span_id": _trace(2, _SPAN_DIGITS),
    "class": _class_name,
    "failure": _failure,
    "flagged_uri": _flagged_uri,
    "ms": _since_1970(1),
    "s": _since_1970(1000),
    "us": _since_1970(0.001),
    "ns": _since_1970(0.000001),
    "iso": _iso,
}
