"""Rows of the tables of `slips`, out of ordered events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jobs.spark.analyses.tracing.following.events import EventsRead
from jobs.spark.analyses.tracing.planning import horizons_of
from jobs.tracing.digests import DIGEST_DIGITS
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.slices import slices_of
from jobs.tracing.outbox import common
from jobs.tracing.slips.dwell import by_step, funnel, over_time, stays
from jobs.tracing.slips.events import Bools, Slips
from jobs.tracing.slips.verdicts import INCOMPLETE, KINDS, Path, Read, was_read
from jobs.wire.rebatch.table import Int64s

MOST_ROWS = 1_000
MOST_BUCKETS = 10_000


class SlipRows:
    """`rows` by table, `facts` and `notes`; those are empty until `fill`."""

    def __init__(self, read: EventsRead, extractor: Extractor) -> None:
        self._read, self._extractor = read, extractor
        lookup = extractor.lookup_topic
        done = [one for one in read.done if one.work.spans[0].topic != lookup]
        # `plan_slips` says what is in it.
        self._known = done[0].work.extra
        self._horizon_ms = common(horizons_of(done, "marks").values()).start_ms or 0
        self._is_whole = all(told.is_whole for one in read.done for told in one.outcomes)
        works = [one.work for one in done]
        self._compacted = sorted({one.spans[0].topic for one in works if one.extra["is_compacted"]})
        self._held = sorted({one.spans[0].topic for one in works if one.extra["is_held"]})
        lasts = {one.spans[0].where: one.spans[0] for one in works}.values()
        self._is_to_end = all(one.end >= one.log_end for one in lasts)
        known, topics = extractor.topic_steps, self._known["topics"]
        seen = {*topics, *(known[one] for one in topics if one in known)}
        self.slips = Slips(read.events(), seen)
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []

    def fill(self, arguments: Mapping[str, Any], width_ms: int) -> None:
        """Make all rows."""
        slips, paths, is_shown = self.slips, self.slips.paths, arguments["ids"] == "shown"
        is_holed = bool(self._horizon_ms or self._compacted or not self._is_whole)
        is_late = slips.column(not one.is_from_start for one in paths) == 1
        cut = (slips.times[slips.starts] < self._horizon_ms) | is_late & is_holed
        found = stays(slips)
        # Compaction and what could not be read may have taken any record.
        is_unsure = cut | bool(self._compacted) | (not self._is_whole)
        broken = self._broken(is_unsure)
        not_judged = slips.column(one.is_unsure for one in paths)[~is_unsure].sum()
        self.rows["funnel"] = list(funnel(slips, found))
        dwell = self.rows["dwell"] = sorted(by_step(slips, found), key=lambda one: -one["p95_ms"])
        buckets = list(over_time(slips, found, width_ms))
        if len(buckets) > MOST_BUCKETS:
            self.notes.append(f"Dwell time by time: cut to the newest {MOST_BUCKETS:,} rows.")
        self.rows["dwell_over_time"] = buckets[-MOST_BUCKETS:]
        stuck = self._stuck(is_shown=is_shown)
        self.rows["violations"] = list(self._violations(broken, is_shown=is_shown))
        self.rows["timeline"] = list(self._timeline(arguments["slip"], broken))
        complete, failed = int(slips.is_complete.sum()), int(slips.is_failed.sum())
        counts = np.bincount(broken[1], minlength=len(KINDS)).tolist()
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
        self._note(skew_ms=found.most_skew_ms, not_judged=int(not_judged))

    def _stuck(self, *, is_shown: bool) -> int | None:
        """Fill the table of stuck slips; returns how many there are, None where that is not known."""
        slips, paths = self.slips, self.slips.paths
        self.rows["stuck"] = []
        if not self._is_to_end:
            self.notes.append("Stuck slips are unknown: the range ends before the end of a log.")
            return None
        limit = slips.column(self._extractor.stuck_ms(one.step) for one in paths)
        ages = self._known["at_ms"] - slips.times[slips.lasts]
        stuck = np.flatnonzero(slips.is_waiting & (ages >= limit))
        newest = stuck[np.lexsort((slips.ids[stuck], ages[stuck]))][:MOST_ROWS]
        for slip in newest.tolist():
            event = int(slips.lasts[slip])
            row, path = self._where(event), paths[slips.path[slip]]
            told = self._was_read(event, path)
            self.rows["stuck"].append(
                {
                    "slip": self._id(event, is_shown=is_shown),
                    "type": path.type,
                    **row,
                    "since_ms": int(slips.times[event]),
                    "age_ms": int(ages[slip]),
                    **told._asdict(),
                }
            )
        self._note_most(len(stuck), "stuck slips")
        return len(stuck)

    def _was_read(self, event: int, path: Path) -> Read:
        """Return the verdict; it is unknown where what comes next may not have been read."""
        known, slips = self._known, self.slips
        group, committed = self._extractor.groups.get(path.step, ""), known["committed"]
        if group in known["faults"] or (not group and (known["fault"] or known["faults"])):
            committed = None
        if committed is not None:
            committed = committed.get(str(self._read.places[int(slips.places[event])]), {})
        told = was_read(int(slips.offsets[event]), committed, group)
        is_doubtful = (
            path.is_back
            or slips.times[event] < self._horizon_ms
            or not self._is_whole
            or (told.verdict == "read_and_lost" and (self._compacted or self._held))
        )
        return told._replace(verdict="unknown") if is_doubtful else told

    def _note_most(self, count: int, what: str) -> None:
        if count > MOST_ROWS:
            self.notes.append(f"{count:,} {what}: the newest {MOST_ROWS:,} are listed.")

    def _broken(self, is_unsure: Bools) -> Int64s:
        """Return columns: event, index of `KINDS`, code of the step; the oldest event first."""
        slips = self.slips
        lists = [
            [(n, kind, slips.step_codes[step]) for n, kind, step in one.broken]
            for one in slips.paths
        ]
        owner, found = slips.rows(lists, 3)
        found[0] += slips.starts[owner]
        found = found[:, ~is_unsure[owner] | (found[1] != INCOMPLETE)]
        events, kinds, steps = found
        by = (steps, kinds, slips.offsets[events], slips.places[events], slips.times[events])
        return found[:, np.lexsort(by)]

    def _violations(self, broken: Int64s, *, is_shown: bool) -> Iterator[dict[str, Any]]:
        self._note_most(broken.shape[1], "violations")
        for event, kind, step in broken.T[::-1][:MOST_ROWS].tolist():
            row = {"slip": self._id(event, is_shown=is_shown), "what": KINDS[kind]}
            yield {**self._where(event), **row, "step": self.slips.steps[step]}

    def _timeline(self, wanted: str | None, broken: Int64s) -> Iterator[dict[str, Any]]:
        slips = self.slips
        slip = self._numbered(wanted) if wanted else None
        if slip is None:
            return
        start, last = int(slips.starts[slip]), int(slips.lasts[slip])
        words: dict[int, list[str]] = {}
        for event, kind in broken[:2, (broken[0] >= start) & (broken[0] <= last)].T.tolist():
            words.setdefault(event, []).append(KINDS[kind])
        if last - start >= MOST_ROWS:
            self.notes.append(
                f"The timeline has the first {MOST_ROWS:,} of {last - start + 1:,} records."
            )
        for event in range(start, min(last + 1, start + MOST_ROWS)):
            at_ms = int(slips.times[event])
            state = slips.reached[slips.state[event]]
            word = "failed" if state.is_failure else "entered"
            yield {
                "at_ms": at_ms,
                **self._where(event),
                "dwell_ms": int(slips.times[event + 1]) - at_ms if event < last else None,
                "what": "complete" if state.is_complete else word,
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
        place = self._read.places[int(slips.places[event])]
        return {
            "step": slips.reached[slips.state[event]].step or None,
            "topic": place.topic,
            "partition": place.partition,
            "offset": int(slips.offsets[event]),
        }

    def _id(self, event: int, *, is_shown: bool) -> str:
        return self._read.text(int(self.slips.order[event]), is_shown=is_shown)

    def _note(self, *, skew_ms: int, not_judged: int) -> None:
        counts, known, facts = self._read.counts, self._known, self.facts
        several = int(self.slips.column(one.has_types for one in self.slips.paths).sum())
        counted = (
            (facts["cut"], "slips are cut: their first records were not read."),
            (counts["no_id"], "records have no id of up to 1,000 bytes and were left out."),
            (counts["no_time"], "records have no time before the year 10000 and were left out."),
            (counts["long_lists"], "lists of more than 200 steps were left out."),
            (
                facts["clock_skew"],
                "steps begin before the step before them by the times of records, up to "
                f"{skew_ms:,} ms: their dwell time is left out.",
            ),
            (counts["unresolved"], "records point to no slip in the lookup topic."),
            (not_judged, "complete slips have steps without any record: not judged by them."),
            (several, "slips have several types: the first one counts."),
            (len(known["faults"]), "groups could not be read: some verdicts are unknown."),
        )
        self.notes += [f"{count:,} {text}" for count, text in counted if count]
        if self._horizon_ms:
            self.notes.append(
                f"Records before {np.datetime64(self._horizon_ms, 'ms')}Z may be missing: slips that "
                "began before are not judged by what they lack, and not called lost."
            )
        for topics, text in (
            (self._compacted, "Compacted, or perhaps so"),
            (self._held, "An open transaction hides the newest records"),
        ):
            if topics:
                named = ", ".join(topics[:5])
                self.notes.append(f"{text}: {named}. No slip is called lost.")
        if self._compacted:
            self.notes.append("Steps may have lost records to compaction: none is called missing.")
        if known["fault"]:
            self.notes.append(
                f"Not all groups are known, so verdicts are unknown: {known['fault']}"
            )
        if counts["records"] and not len(self.slips):
            fields = " | ".join(map(str, self._extractor.fields.get("id", ())))
            looked_for = fields or "no field for id"
            self.notes.append(f"No record has an id. The extractor looks for: {looked_for}.")
        self.notes += [f"{n:,} values: {text}" for text, n in self._read.problems.most_common(5)]
