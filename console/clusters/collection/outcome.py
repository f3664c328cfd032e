"""What a round for one noun came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.limits import SENTENCE, short

MOST_REASONS = MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many rows there are now, and a sentence about what the answer left out ("" = nothing)."""

    row_count: int
    missing: str = ""


def sentence_about(what: str, reasons: Mapping[str, str], total: int) -> str:
    """Return one sentence about the missing parts of an answer, "" when there are none.

    `reasons` maps the name of a missing part to why; parts with the same reason are counted together.
    """
    if not reasons:
        return ""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        alike.setdefault(short(reason, SENTENCE).rstrip("."), []).append(short(name))
    groups = sorted(alike.items(), key=lambda entry: -len(entry[1]))
    told = "; ".join(f"{reason} ({_named(names)})" for reason, names in groups[:MOST_REASONS])
    more = f"; and {len(groups) - MOST_REASONS} more reasons" if len(groups) > MOST_REASONS else ""
    return f"{len(reasons)} of {total} {what}: {told}{more}."


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
