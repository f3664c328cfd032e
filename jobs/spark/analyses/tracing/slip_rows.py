"""Rows of the tables of `slips`, out of ordered events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jobs.spark.analyses.tracing.slip_events import EventsRead
from jobs.spark.analyses.tracing.slip_plan import Planned
from jobs.tracing.digests import DIGEST_DIGITS
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.slices import slices_of
from jobs.tracing.slips.dwell import by_step, funnel, over_time, stays
from jobs.tracing.slips.events import BEHIND, Slips
from jobs.tracing.slips.verdicts import KINDS, Violations, violations, was_read

MOST_ROWS = 1_000
MOST_BUCKETS = 10_000


class SlipRows:
    """`rows` by table, `facts` and `notes`; those are empty until `fill`."""

    def __init__(self, read: EventsRead, planned: Planned, extractor: Extractor) -> None:
        self._read, self._planned, self._extractor = read, planned, extractor
        self._horizon_ms = planned.horizon(read.firsts)
        self.slips = Slips(read.events())
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []

    def fill(self, arguments: Mapping[str, Any], width_ms: int, *, is_whole: bool) -> None:
        """Make all rows; `is_whole`: no part of what was planned could not be read."""
        slips, is_shown = self.slips, arguments["ids"] == "shown"
        cut = slips.cut(self._horizon_ms, is_holed=self._planned.is_holed)
        found = stays(slips)
        known = self._extractor.topic_steps
        topics = self._planned.topics
        seen = {*topics, *(known[one] for one in topics if one in known)}
        broken = violations(slips, cut, seen)
        self.rows["funnel"] = sorted(funnel(slips, found), key=_funnel_order)
        dwell = self.rows["dwell"] = sorted(by_step(slips, found), key=lambda one: -one["p95_ms"])
        buckets = list(over_time(slips, found, width_ms))
        if len(buckets) > MOST_BUCKETS:
            self.notes.append(f"Dwell time by time: cut to the newest {MOST_BUCKETS:,} rows.")
        self.rows["dwell_over_time"] = buckets[-MOST_BUCKETS:]
        stuck = self._stuck(is_shown=is_shown, is_whole=is_whole)
        self.rows["violations"] = list(self._violations(broken, is_shown=is_shown))
        self.rows["timeline"] = list(self._timeline(arguments["slip"], broken))
        complete, failed = int((slips.of_complete >= 0).sum()), int(slips.of_failed.sum())
        counts = np.bincount(broken.kinds, minlength=len(KINDS)).tolist()
        grown = max(dwell, key=lambda one: one["factor"] or 0, default=None)
        self.facts = {
            "slips": len(slips),
            "complete": complete,
            "failed": failed,
            "in_progress": len(slips) - complete - failed,
            "stuck": stuck,
            "cut": int(cut.sum()),
            "records": self._read.counts["records"],
            "records_without_id": self._read.counts["no_id"],
            **dict(zip(KINDS, counts, strict=True)),
            "clock_skew": found.skewed,
            "unresolved_pointers": self._read.counts["unresolved"],
            "slowest_step": dwell[0]["line"] if dwell else None,
            "grew_most": grown["line"] if grown and (grown["factor"] or 0) > 1 else None,
        }
        self._note(
            cut_slips=int(cut.sum()), skew_ms=found.most_skew_ms, not_judged=broken.not_judged
        )

    def _stuck(self, *, is_shown: bool, is_whole: bool) -> int | None:
        """Fill the table of stuck slips; returns how many there are, None where that is not known."""
        slips, planned = self.slips, self._planned
        self.rows["stuck"] = []
        if not planned.is_to_end:
            self.notes.append("Stuck slips are unknown: the range ends before the end of a log.")
            return None
        limits = [self._extractor.stuck_ms(step) for step in [*slips.steps, ""]]
        limit = np.array(limits, np.int64)[slips.step[slips.lasts]]
        ages = planned.planned_ms - slips.times[slips.lasts]
        stuck = np.flatnonzero(slips.of_waiting & (ages >= limit))
        newest = stuck[np.lexsort((slips.ids[stuck], ages[stuck]))][:MOST_ROWS]
        for slip in newest.tolist():
            event = int(slips.lasts[slip])
            row = self._where(event)
            step = row["step"] or ""
            where = self._read.places[int(slips.places[event])]
            told = was_read(
                row["offset"], planned.offsets(where, step), planned.groups.get(step, "")
            )
            # What comes next may not have been read.
            is_doubtful = slips.of_back[slip] or slips.times[event] < self._horizon_ms
            self.rows["stuck"].append(
                {
                    "slip": self._id(event, is_shown=is_shown),
                    "type": self._type(slip),
                    **row,
                    "since_ms": int(slips.times[event]),
                    "age_ms": int(ages[slip]),
                    "group": told.group or None,
                    "committed": told.committed,
                    "verdict": "unknown" if is_doubtful or not is_whole else told.verdict,
                }
            )
        if len(stuck) > MOST_ROWS:
            self.notes.append(
                f"{len(stuck):,} slips are stuck: the newest {MOST_ROWS:,} are listed."
            )
        return len(stuck)

    def _violations(self, broken: Violations, *, is_shown: bool) -> Iterator[dict[str, Any]]:
        total = len(broken.events)
        if total > MOST_ROWS:
            self.notes.append(f"{total:,} violations: the newest {MOST_ROWS:,} are listed.")
        columns = (broken.events, broken.kinds, broken.steps)
        for event, kind, step in zip(
            *(one[::-1][:MOST_ROWS].tolist() for one in columns), strict=True
        ):
            row = {"slip": self._id(event, is_shown=is_shown), "what": KINDS[kind]}
            yield {**self._where(event), **row, "step": self.slips.steps[step]}

    def _timeline(self, wanted: str | None, broken: Violations) -> Iterator[dict[str, Any]]:
        slips = self.slips
        slip = self._numbered(wanted) if wanted else None
        if slip is None:
            return
        start, last = int(slips.starts[slip]), int(slips.lasts[slip])
        words: dict[int, list[str]] = {}
        is_mine = (broken.events >= start) & (broken.events <= last)
        for event, kind in zip(
            broken.events[is_mine].tolist(), broken.kinds[is_mine].tolist(), strict=True
        ):
            words.setdefault(event, []).append(KINDS[kind])
        if last - start >= MOST_ROWS:
            self.notes.append(
                f"The timeline has the first {MOST_ROWS:,} of {last - start + 1:,} records."
            )
        for event in range(start, min(last + 1, start + MOST_ROWS)):
            at_ms = int(slips.times[event])
            word = "failed" if slips.is_failure[event] else "entered"
            yield {
                "at_ms": at_ms,
                **self._where(event),
                "dwell_ms": int(slips.times[event + 1]) - at_ms if event < last else None,
                "what": "complete" if slips.is_complete[event] else word,
                "violations": words.get(event, []),
            }

    def _numbered(self, wanted: str) -> int | None:
        """Return the number of a slip by its id or its digest."""
        slips = self.slips
        hashed = slices_of([wanted.encode()]).hashes()[0]
        found = np.flatnonzero(slips.ids == hashed).tolist()
        if not found and len(wanted) == DIGEST_DIGITS:
            starts = enumerate(slips.starts.tolist())
            found = [one for one, event in starts if self._id(event, is_shown=False) == wanted][:1]
        if not found:
            self.notes.append("No record of the slip of the timeline was read.")
        return found[0] if found else None

    def _where(self, event: int) -> dict[str, Any]:
        slips = self.slips
        step, place = int(slips.step[event]), self._read.places[int(slips.places[event])]
        return {
            "step": slips.steps[step] if step >= 0 else None,
            "topic": place.topic,
            "partition": place.partition,
            "offset": int(slips.offsets[event]),
        }

    def _id(self, event: int, *, is_shown: bool) -> str:
        return self._read.text(int(self.slips.order[event]), is_shown=is_shown)

    def _type(self, slip: int) -> str:
        code = int(self.slips.of_type[slip])
        return self.slips.types[code] if code >= 0 else ""

    def _note(self, *, cut_slips: int, skew_ms: int, not_judged: int) -> None:
        counts, planned, facts = self._read.counts, self._planned, self.facts
        horizon = np.datetime64(self._horizon_ms, "ms") if self._horizon_ms else None
        compacted = ", ".join(planned.compacted[:5])
        fault, faults = planned.fault, planned.faults
        sentences = {
            f"Records before {horizon}Z may be missing: slips that began before are not judged by what they "
            "lack, and not called lost.": horizon is not None,
            f"Compacted, or perhaps so: {compacted}. Earlier records of slips may be missing.": compacted,
            f"{cut_slips:,} slips are cut: their first records were not read.": cut_slips,
            f"{counts['no_id']:,} records have no id of up to 1,000 bytes and were left out.": counts[
                "no_id"
            ],
            f"{counts['no_time']:,} records have no time before the year 10000 and were left out.": counts[
                "no_time"
            ],
            f"{counts['long_lists']:,} lists of more than 200 steps were left out.": counts[
                "long_lists"
            ],
            f"{facts['clock_skew']:,} steps begin before the step before them by the times of records, up to "
            f"{skew_ms:,} ms: their dwell time is left out.": facts["clock_skew"],
            f"{counts['unresolved']:,} records point to no slip in the lookup topic.": counts[
                "unresolved"
            ],
            f"{not_judged:,} complete slips have steps of which no record was read: whether they were done "
            "is unknown.": not_judged,
            f"Committed offsets could not be read, so verdicts are unknown: {fault}": fault,
            f"{len(faults):,} groups could not be read, so some verdicts are unknown.": faults,
        }
        self.notes += [text for text, is_so in sentences.items() if is_so]
        if counts["records"] and not len(self.slips):
            looked_for = (
                " | ".join(map(str, self._extractor.fields.get("id", ()))) or "no field for id"
            )
            self.notes.append(f"No record has an id. The extractor looks for: {looked_for}.")
        self.notes += [f"{n:,} values: {text}" for text, n in self._read.problems.most_common(5)]


def _funnel_order(row: Mapping[str, Any]) -> tuple[str, int, str]:
    return row["type"], row["position"] or BEHIND, row["step"]
