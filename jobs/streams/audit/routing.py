"""Rules about the routing of an application: whether its own metadata names who serves a key. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.checks.check import Unit, check
from jobs.severity import Severity
from jobs.streams.audit.conditions import Condition, Seen, lasts, most, streams_check, unknown

MISROUTED = streams_check(
    id="streams_keys_misrouted",
    title="Kafka Streams metadata names wrong instances",
    question="Does the application's own metadata name the instance that serves a key?",
    rule="The share of keys for which queryMetadataForKey names another instance or partition, computed from "
    "the routing that the members carry, is above the threshold. Not judged while that routing is not known.",
    severity=Severity.CRITICAL,
    runbook="Give every instance an application.server of its own that the others can reach.",
    thresholds=(
        lasts(120),
        most(0, Unit.PERCENT, "Share of keys, in the worst store.", most=100),
    ),
)


@check(MISROUTED)
def judge_answers(seen: Seen) -> Iterator[Condition]:
    """Compare the application's own answers with who runs each task."""
    if seen.misrouted is None:
        yield unknown(MISROUTED)
        return
    percent = 100 * seen.misrouted
    text = f"sends {percent:.3g} % of the keys of its worst store to the wrong instance."
    yield Condition(MISROUTED, text, {"misrouted_percent": round(percent, 3)}, value=percent)


CHECKS = (MISROUTED,)
RULES = (judge_answers,)
