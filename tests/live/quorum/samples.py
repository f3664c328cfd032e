"""Contents for every message of a schema table: the same ones in every run."""

import base64
import random
from collections.abc import Callable
from typing import Any

from jobs.wire.messages.reader import uuid_text
from jobs.wire.messages.schema import Field, Kind, plain_fields, tagged_fields

_WIDTHS = {Kind.INT8: 7, Kind.INT16: 15, Kind.UINT16: 16, Kind.INT32: 31, Kind.INT64: 63}
_NUMBERS = [0.0, -1.5, 1e300, 5e-324, 0.1, 1e7, "NaN", "Infinity", "-Infinity"]
_LETTERS = 'abcXYZ09-._ äß漢🙂"\\\n\t'
_OTHERS: dict[Kind, Callable[[random.Random], Any]] = {
    Kind.BOOL: lambda chance: chance.random() < 0.5,
    Kind.FLOAT64: lambda chance: chance.choice(_NUMBERS),
    Kind.UUID: lambda chance: uuid_text(chance.randbytes(16)),
    Kind.STRING: lambda chance: "".join(chance.choices(_LETTERS, k=chance.randrange(9))),
    Kind.BYTES: lambda chance: base64.b64encode(chance.randbytes(chance.randrange(9))).decode(),
}


def sample(fields: tuple[Field, ...], version: int, chance: random.Random) -> dict[str, Any]:
    """Values for the fields of a version; tagged ones are there half of the time, and never their default."""
    found = {field.name: _value(field, version, chance) for field in plain_fields(fields, version)}
    for field in tagged_fields(fields, version).values():
        value = _value(field, version, chance)
        if chance.random() < 0.5 and value not in (field.default, [], None):
            found[field.name] = value
    return found


def _value(field: Field, version: int, chance: random.Random) -> Any:
    if field.nullable and chance.random() < 0.3:
        return None
    if field.is_array:
        return [_one(field, version, chance) for _ in range(chance.randrange(4))]
    return _one(field, version, chance)


def _one(field: Field, version: int, chance: random.Random) -> Any:
    kind = field.kind
    if kind is Kind.STRUCT:
        return sample(field.fields, version, chance)
    if kind in _OTHERS:
        return _OTHERS[kind](chance)
    size = _WIDTHS[kind]
    lowest = 0 if kind is Kind.UINT16 else -(1 << size)
    return chance.choice([lowest, (1 << size) - 1, 1, chance.randrange(lowest, 1 << size)])
