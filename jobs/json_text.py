"""JSON that people and other programs give, refused with sentences for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Pairs = Callable[[list[tuple[str, Any]]], Any]


class BadJson(ValueError):
    """A text that is no JSON; the message says where. `line` 0: not known."""

    def __init__(self, sentence: str, line: int = 0) -> None:
        super().__init__(sentence)
        self.line = line


def parse_json(content: str | bytes, pairs: Pairs | None = None) -> Any:
    """Return the value of a text; raises `BadJson`. `pairs` makes an object of its names and values."""
    try:
        return json.loads(content, object_pairs_hook=pairs, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise BadJson(_where(error), error.lineno) from None
    except UnicodeDecodeError as error:
        raise BadJson(f"It is no JSON: byte {error.start} is no {error.encoding} text.") from None
    except RecursionError:
        raise BadJson("It is nested too deeply.") from None
    except BadJson:
        raise
    except ValueError:
        raise BadJson("It holds a number with too many digits.") from None


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises `BadJson` for a key that is there twice, so that no order decides."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadJson(f"The key {twice!r} is there twice in one object.")
    return found


def fault_of(error: Exception, *own: type[Exception]) -> str:
    """Return in words why a document has another form than a reader needs, without the names of Python.

    `own` are errors whose text is written for people.
    """
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]} is missing"
    if isinstance(error, (BadJson, OSError, *own)):
        return str(error).rstrip(".")
    return "a value has another form than it is to have"


def _no_number(name: str) -> None:
    raise BadJson(f"It is no JSON: {name} is no number of JSON.")


def _where(error: json.JSONDecodeError) -> str:
    if not error.doc.strip("\ufeff \t\r\n"):
        return "It is no JSON: it is empty."
    if error.pos >= len(error.doc.rstrip()):
        return "It is no JSON: it ends too early."
    return f"It is no JSON at line {error.lineno}, column {error.colno}."
