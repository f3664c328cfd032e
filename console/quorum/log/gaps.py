"""Gaps and damage of a metadata log: stored form and sentences.

A gap has `from`, `to` (null: all behind `from`), `from_at`, `to_at`; `known_from` and `known_at` are those of
the snapshot behind it, from which on all is known again (null: there is none, absent: at `to`). A gap that
damage made has `reason`, `file` and `position`. Of damage, `offset` is the one that comes next there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from console.quorum.log.log_fold import MissingSpan, at
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.batches.record_batch import HIGHEST_OFFSET

MOST = 1_000
Gaps = list[dict[str, Any]]


def with_spans(gaps: Gaps, spans: Iterable[MissingSpan]) -> Gaps:
    """Return gaps with those that were met since; of too many, the last one kept reaches over the rest."""
    known = {gap["from"] for gap in gaps}
    found = [*gaps, *(_gap(one) for one in spans if one.from_offset not in known)]
    if len(found) > MOST:
        ends = ("to", "to_at", "known_from", "known_at")
        last = found[MOST - 1] | {name: found[-1].get(name) for name in ends}
        reason = "There are more gaps than are kept: of the offsets in this one, some can be read."
        found = [*found[: MOST - 1], last | {"reason": reason}]
    return found


def known_again(gaps: Gaps, snapshots: Sequence[tuple[int, int]]) -> Gaps:
    """Return gaps with the first snapshot behind each; `snapshots` are end offsets and times in ms."""
    found = []
    for gap in gaps:
        told = gap
        for offset, ms in snapshots:
            is_open = "known_from" in gap and gap["known_from"] is None and gap["to"] is not None
            if is_open and offset >= gap["to"]:
                told = gap | {"known_from": offset, "known_at": _iso(ms) or gap["to_at"]}
                break
        found.append(told)
    return found


def with_damages(rows: Gaps, damages: Iterable[LogDamage]) -> Gaps:
    """Return stored damage with what was met since, each once, at most a thousand."""
    found = {(row["kind"], row["file"], row["position"], row["offset"]): row for row in rows}
    for one in damages:
        row: dict[str, Any] = {"kind": one.kind.value, "file": one.file or ""}
        row |= {"position": one.position, "offset": one.expected, "sentence": one.sentence}
        found.setdefault((row["kind"], row["file"], row["position"], row["offset"]), row)
    return list(found.values())[:MOST]


def ranges(gaps: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield the missing offsets [from, to); one that has no end reaches to the highest offset."""
    for gap in gaps:
        yield gap["from"], HIGHEST_OFFSET if gap["to"] is None else gap["to"]


def unsure_at(gaps: Iterable[Mapping[str, Any]], offset: int) -> Mapping[str, Any] | None:
    """Return the last gap before an offset behind which no snapshot was read by then; None: all is known."""
    found = None
    for gap in gaps:
        known_from = gap.get("known_from", gap["to"])
        if gap["from"] <= offset and (known_from is None or known_from > offset):
            found = gap
    return found


def gap_sentence(gap: Mapping[str, Any]) -> str:
    """Return what is missing and why, for people."""
    start, end, reason = gap["from"], gap["to"], gap.get("reason") or ""
    where = f"Offsets {start:,} to {(end or 0) - 1:,} are missing"
    if end is None:
        where = f"Records from offset {start:,} on cannot be read"
    sentence = f"{where}: {reason}" if reason else where
    known = gap.get("known_from", end)
    if end is None or known == end:
        return f"{sentence}."
    if known is None:
        return f"{sentence}. No snapshot follows: the state after the gap is not certain."
    return f"{sentence}. The state is certain again from the snapshot at offset {known:,}."


def _gap(span: MissingSpan) -> dict[str, Any]:
    told: dict[str, Any] = {
        "from": span.from_offset,
        "to": span.to_offset,
        "from_at": _iso(span.from_ms),
        "to_at": _iso(span.to_ms),
        "known_from": None,
        "known_at": None,
    }
    if span.damages:
        first, more = span.damages[0], len(span.damages) - 1
        reason = first.sentence + (f", and {more:,} more places" if more else "")
        told |= {"reason": reason, "file": first.file, "position": first.position}
    return told


def _iso(ms: int | None) -> str | None:
    moment = at(ms)
    return None if moment is None else moment.isoformat()
