"""What a round for one noun came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many rows there are now, and a sentence about what the answer left out ("" = nothing)."""

    row_count: int
    missing: str = ""


def sentence_about(what: str, errors: Sequence[str], total: int) -> str:
    """Return one sentence about the missing parts of an answer: how many, and the first reasons."""
    if not errors:
        return ""
    reasons = list(dict.fromkeys(errors))
    named = "; ".join(reasons[:MOST_NAMED])
    more = f"; and {len(reasons) - MOST_NAMED} more reasons" if len(reasons) > MOST_NAMED else ""
    return f"{len(errors)} of {total} {what}: {named}{more}"
