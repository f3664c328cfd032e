"""What a regular expression of a flow may hold, before it is compiled. Pure."""

from __future__ import annotations

import re

# A list of several hundred names fits. Names of topics have at most 249 characters to repeat anything over.
LONGEST = 10_000
_MANY_REPEATS = re.compile(r"\{(?:[0-9]*,)?[0-9]{5}")


def pattern_problem(pattern: object) -> str | None:
    """Return why this is not a usable pattern, as a sentence; None when it is."""
    if not isinstance(pattern, str) or not pattern:
        return "A pattern is a non-empty text."
    problem = expression_problem(pattern)
    return None if problem is None else f"{pattern[:100]!r} is not a regular expression: {problem}."


def expression_problem(pattern: str) -> str | None:
    """Return why a text is no regular expression of Python, or one that is too large; None when it is one."""
    if len(pattern) > LONGEST:
        return f"it has {len(pattern):,} characters, more than {LONGEST:,}"
    if _MANY_REPEATS.search(pattern):
        return "it repeats something 10,000 times or more"
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    except (RecursionError, OverflowError):
        return "it is nested too deeply, or repeats something too often"
    return None
