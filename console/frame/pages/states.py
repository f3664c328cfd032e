"""State words of crosslog and Kafka with their severity; each severity has an icon shape of its own."""

from __future__ import annotations

from jobs.severity import Severity

# 10 x 10 icons: check, ring, triangle, octagon with a bar, dash; no colour is needed to read them.
ICONS = {
    Severity.HEALTHY: '<path d="M1.5 5.4 4 7.9l4.6-5.8" fill="none" stroke="currentColor" stroke-width="1.8" '
    'stroke-linecap="round" stroke-linejoin="round"/>',
    Severity.INFO: '<circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" stroke-width="1.6"/>',
    Severity.WARNING: '<path d="M5 .8 9.5 9.2H.5z" fill="currentColor"/>',
    Severity.CRITICAL: '<path fill-rule="evenodd" d="M3 .2h4L9.8 3v4L7 9.8H3L.2 7V3zM2.2 4.2v1.6h5.6V4.2z" '
    'fill="currentColor"/>',
    Severity.UNKNOWN: '<path d="M2 5h6" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>',
}

_WORDS = {
    Severity.HEALTHY: "running succeeded stable caught_up ok ready online fully_replicated live fresh "
    "reachable delivered equal",
    Severity.INFO: "queued starting copying catching_up stopping empty preparing_rebalance "
    "completing_rebalance assigning reconciling rebalancing waiting paused no_commit watched "
    "pending",
    Severity.WARNING: "retrying lagging behind stale under_replicated at_min_isr unknown_group not_ready",
    Severity.CRITICAL: "failed failing crashed offline partially_offline unreachable dead under_min_isr lost "
    "refused gave_up behind_log_start ahead_of_end differs",
}
_SEVERITY_OF = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(word: object) -> Severity:
    """Return the severity of a state word of crosslog or Kafka, in any spelling; UNKNOWN for other words."""
    return _SEVERITY_OF.get(_snake(str(word)), Severity.UNKNOWN)


def worst(severities: list[Severity]) -> Severity:
    """Return the worst of several severities; UNKNOWN for an empty list."""
    return max(severities, key=lambda one: one.rank, default=Severity.UNKNOWN)


def spoken(word: object) -> str:
    """Return a state word as people write it: PreparingRebalance becomes Preparing rebalance, ok Healthy."""
    name = _snake(str(word))
    text = "healthy" if name == "ok" else name.replace("_", " ").replace(" isr", " ISR")
    return text[:1].upper() + text[1:]


def _snake(word: str) -> str:
    if word.isupper():
        return word.lower().replace(" ", "_").replace("-", "_")
    parts = "".join(f"_{c.lower()}" if c.isupper() else c for c in word)
    return parts.lstrip("_").replace(" ", "_").replace("-", "_").replace("__", "_")
