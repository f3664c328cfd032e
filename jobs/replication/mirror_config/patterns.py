"""Java's regular expressions in filters, as far as a configuration can be judged without running it. Pure."""

from __future__ import annotations

import re

from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import expression_of
from jobs.replication.mirror_config.values import Connector

LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\?\.)+")
_OPEN = {"{": "}", "[": "]", "(": ")"}


def pattern_error(pattern: str) -> NotAPattern | None:
    """Return why a pattern is none, or (`NotEvaluated`) one that Java alone evaluates; None: it is valid."""
    try:
        expression_of(pattern)
    except NotAPattern as error:
        return error
    return None


def comma_inside(text: str) -> str | None:
    """Return the bracketed part of a list that contains a comma, which splits it; None for none."""
    starts: list[tuple[int, str]] = []
    escaped = False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in _OPEN and not (starts and starts[-1][1] == "]"):
            starts.append((at, _OPEN[character]))
        elif starts and character == starts[-1][1]:
            begin, _ = starts.pop()
            if "," in text[begin:at] and not starts:
                return text[begin : at + 1]
    return None


def may_share(one: Connector, other: Connector) -> bool:
    """Return whether two source connectors may take topics of the same name.

    Patterns are compared and never run: somebody else wrote them, and matching can take for ever.
    """
    pairs = ((a, b) for a in one.patterns("topics") for b in other.patterns("topics"))
    return any(_may_meet(a, b) for a, b in pairs)


def _may_meet(one: str, other: str) -> bool:
    (first, first_is_open), (second, second_is_open) = _beginning(one), _beginning(other)
    if first_is_open and second_is_open:
        return first.startswith(second) or second.startswith(first)
    if first_is_open:
        return second.startswith(first)
    if second_is_open:
        return first.startswith(second)
    return first == second


def _beginning(pattern: str) -> tuple[str, bool]:
    """Return what every match begins with, and whether anything may follow."""
    if LITERAL.fullmatch(pattern):
        return pattern.replace("\\", ""), False
    match = re.match(r"(?:[A-Za-z0-9_-]|\\[.-])*", pattern)
    fixed = match[0] if match else ""
    if pattern[len(fixed) : len(fixed) + 1] in ("*", "?", "{"):
        fixed = fixed[:-1]
    return ("" if "|" in pattern else fixed.replace("\\", "")), True
