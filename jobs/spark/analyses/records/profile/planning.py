"""Which spans of topics are counted together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from jobs.spark.analyses.records.ranges import PIECE_OFFSETS, Span, Work, pieces

# A task is not given more spans at once: each of them is one request at least.
_MOST_SPANS = 500


def works_of(
    spans: Sequence[Span],
    arguments: Mapping[str, Any],
    planned_ms: int,
    policies: Mapping[str, str | None],
) -> list[Work]:
    """Return works of spans of one topic each, topic by topic; a topic without records has one, too.

    `policies`: `cleanup.policy` by topic, None where it is not known.
    """
    return [
        Work(tuple(one for one, _, _ in part), {
            "planned_ms": planned_ms,
            "policy": policies.get(topic),
            "are_begun": [is_begun for _, is_begun, _ in part],
            "are_ended": [is_ended for _, _, is_ended in part],
        })
        for topic, group in groupby(spans, key=lambda span: span.topic)
        for part in _parts([_edges(span, arguments) for span in group])
    ]  # fmt: skip


def _edges(span: Span, arguments: Mapping[str, Any]) -> tuple[Span, bool, bool]:
    """Return whether there are or were records before a span, of unknown times; and behind it."""
    is_removed = span.start == span.log_start > 0
    by_offset = arguments["from_offset"] is not None and span.start > span.log_start
    is_ended = arguments["to_offset"] is not None and span.end < span.log_end
    return span, span.is_cut or is_removed or by_offset, is_ended


def _parts(spans: Sequence[tuple[Span, bool, bool]]) -> Iterator[list[tuple[Span, bool, bool]]]:
    kept: list[tuple[Span, bool, bool]] = []
    size = 0
    for span, is_begun, is_ended in spans:
        if span.offsets > PIECE_OFFSETS:
            cut = [work.spans[0] for work in pieces([span])]
            yield from (
                [(one, is_begun and one is cut[0], is_ended and one is cut[-1])] for one in cut
            )
            continue
        if kept and (size + span.offsets > PIECE_OFFSETS or len(kept) >= _MOST_SPANS):
            yield kept
            kept, size = [], 0
        kept.append((span, is_begun, is_ended))
        size += span.offsets
    if kept:
        yield kept
