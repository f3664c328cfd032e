"""Severity: one ladder for everything that can be well or ill, told by word, icon shape and colour."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """From well to worst; each has its own icon shape, so that no colour is needed to read it."""

    OK = "ok"
    NOTICE = "notice"
    WARN = "warn"
    RISK = "risk"
    CRIT = "crit"
    NONE = "none"


# 10 x 10 icons: check, ring, triangle, diamond, octagon with a bar, dash.
ICONS = {
    Severity.OK: '<path d="M1.5 5.4 4 7.9l4.6-5.8" fill="none" stroke="currentColor" stroke-width="1.8" '
    'stroke-linecap="round" stroke-linejoin="round"/>',
    Severity.NOTICE: '<circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" stroke-width="1.6"/>',
    Severity.WARN: '<path d="M5 .8 9.5 9.2H.5z" fill="currentColor"/>',
    Severity.RISK: '<path d="M5 .4 9.6 5 5 9.6.4 5z" fill="currentColor"/>',
    Severity.CRIT: '<path fill-rule="evenodd" d="M3 .2h4L9.8 3v4L7 9.8H3L.2 7V3zM2.2 4.2v1.6h5.6V4.2z" '
    'fill="currentColor"/>',
    Severity.NONE: '<path d="M2 5h6" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>',
}

_WORDS = {
    Severity.OK: "running succeeded stable caught_up ok ready online fully_replicated live fresh reachable "
    "delivered",
    Severity.NOTICE: "queued starting copying catching_up stopping empty preparing_rebalance "
    "completing_rebalance assigning reconciling rebalancing waiting paused no_commit watched "
    "pending",
    Severity.WARN: "retrying lagging behind stale under_replicated unknown_group not_ready",
    Severity.RISK: "at_min_isr failing behind_log_start ahead_of_end partially_offline",
    Severity.CRIT: "failed errored offline unreachable dead under_min_isr lost refused gave_up",
}
_SEVERITY_OF = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(word: object) -> Severity:
    """Return the severity of one of crosslog's or Kafka's state words, in any spelling; NONE when unknown."""
    return _SEVERITY_OF.get(_snake(str(word)), Severity.NONE)


def worst(severities: list[Severity]) -> Severity:
    """Return the worst of several severities; NONE for an empty list."""
    ladder = [
        Severity.NONE,
        Severity.OK,
        Severity.NOTICE,
        Severity.WARN,
        Severity.RISK,
        Severity.CRIT,
    ]
    return max(severities, key=ladder.index, default=Severity.NONE)


def spoken(word: object) -> str:
    """Return a state word as people write it: PreparingRebalance becomes Preparing rebalance."""
    text = _snake(str(word)).replace("_", " ").replace(" isr", " ISR")
    return text[:1].upper() + text[1:]


def _snake(word: str) -> str:
    if word.isupper():
        return word.lower().replace(" ", "_").replace("-", "_")
    parts = "".join(f"_{c.lower()}" if c.isupper() else c for c in word)
    return parts.lstrip("_").replace(" ", "_").replace("-", "_").replace("__", "_")
