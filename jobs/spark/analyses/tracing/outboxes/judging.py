"""What the events of all tasks come to: rows of delays, duplicates, gaps and transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from jobs.spark.analyses.records.running import Reduced
from jobs.spark.analyses.tracing.outboxes.events import COLUMNS
from jobs.spark.analyses.tracing.planning import horizons_of
from jobs.tracing import outbox
from jobs.tracing.extractors.columns import ABSENT
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.slices import slices_of
from jobs.tracing.outbox import Horizon, Transaction
from jobs.wire.rebatch.table import Int64s

MOST_LISTED = 1_000
_NEVER = np.iinfo(np.int64).max
_RANKS = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
Row = dict[str, Any]


class Events(NamedTuple):
    """All events, an entry of each array for each; `topic` is an index of `topics`."""

    topics: list[str]
    topic: Int64s
    partition: Int64s
    offset: Int64s
    time: Int64s
    appended: Int64s
    committed: Int64s
    sequence: Int64s
    id: Int64s
    scope: Int64s
    transaction: Int64s
    collection: Int64s

    def place(self, index: int, prefix: str = "") -> Row:
        """Return where a record is."""
        return {
            f"{prefix}topic": self.topics[self.topic[index]],
            f"{prefix}partition": int(self.partition[index]),
            f"{prefix}offset": int(self.offset[index]),
            f"{prefix}at_ms": _moment(self.time[index], -1),
        }


def events_of(done: Sequence[Reduced]) -> Events:
    """Return the events of all tasks."""
    tables = [one.tables["events"] for one in done]
    spans, counts = [one.work.spans[0] for one in done], [len(one) for one in tables]
    topics = sorted({one.topic for one in spans})
    numbers = ([topics.index(one.topic) for one in spans], [one.partition for one in spans])
    columns = (np.concatenate([one[name].to_numpy() for one in tables]) for name in COLUMNS)
    return Events(topics, *(np.repeat(one, counts) for one in numbers), *columns)


class Judging:
    """Rows by table, counts by fact, and what bounds the time up to which everything is there."""

    def __init__(
        self, events: Events, horizons: Mapping[str, Horizon], extractor: Extractor
    ) -> None:
        self.events, self.horizons, self.extractor = events, horizons, extractor
        self.all = outbox.common(horizons.values())
        self.rows: dict[str, list[Row]] = {}
        self.facts: Counter[str] = Counter(events=len(events.topic))
        # By topic; "" is for all of them.
        self.bounds: dict[str, list[int | None]] = {name: [] for name in ("", *events.topics)}
        self.newest: dict[str, int | None] = {}
        self._missing: Counter[str] = Counter()
        # A time that was copied from the commit time does not say when the event was sent.
        is_copied = (events.appended == 0) & (events.time == events.committed)
        self._sent_ms = np.where(is_copied | (events.time < 0), _NEVER, events.time)
        self._scopes = np.where(events.scope, events.scope, events.topic + 1)
        # Which events belong to transactions that are judged.
        self._are_covered = np.zeros(len(events.topic), np.bool_)

    @property
    def complete_from_ms(self) -> int | None:
        """From which time on what is missing is known; None: of all that the logs had."""
        return None if self.all.start_ms is None else self.all.start_ms + outbox.IN_FLIGHT_MS

    def judge_duplicates(self) -> None:
        """Find the events that came more than once."""
        events = self.events
        firsts, seconds, counts = outbox.repeated(events.id, events.time)
        self._copies = np.bincount(events.topic[firsts], counts - 1, len(events.topics))
        self.facts["duplicates"] = int((counts - 1).sum())
        listed = zip(firsts[:MOST_LISTED], seconds, counts.tolist(), strict=False)
        self.rows["duplicates"] = [
            {"records": count, **events.place(first), **events.place(second, "again_")}
            for first, second, count in listed
        ]

    def judge_gaps(self) -> None:
        """Find the numbers that are missing; a transaction's own numbers are no sequence of a topic."""
        events, has_scope = self.events, self.extractor.has("sequence_scope")
        self._has_sequence = has_scope or self.extractor.preset != "debezium-transaction"
        sequences = events.sequence if self._has_sequence else np.full(len(events.topic), ABSENT)
        if has_scope:
            sequences = np.where(events.scope, sequences, ABSENT)
        rows = self.rows.setdefault("gaps", [])
        pairs = zip(*outbox.gaps(self._scopes, sequences, events.time), strict=True)
        for before, after in pairs:
            topic = events.topics[events.topic[before]]
            horizon = self.all if events.scope[before] else self.horizons[topic]
            reason = horizon.unjudged(int(events.time[before]), int(self._sent_ms[after]))
            first, last = int(sequences[before]) + 1, int(sequences[after]) - 1
            if outbox.bounding(reason):
                scope = "" if events.scope[before] else topic
                self.bounds[scope].append(_moment(events.committed[before]))
            self.facts["unknown_gaps" if reason else "gaps"] += 1
            if not reason:
                self.facts["missing"] += last - first + 1
                self._missing[topic] += last - first + 1
            if len(rows) < MOST_LISTED:
                gap = {"first": first, "last": last, "missing": last - first + 1}
                state = {"state": "unknown" if reason else "missing", "reason": reason}
                places = {**events.place(before), **events.place(after, "after_")}
                rows.append({**gap, **state, **places})

    def judge_transactions(self, done: Sequence[Reduced]) -> None:
        """Compare the transaction topic with the events."""
        (marks,) = horizons_of(done, "marks").values()
        self.all = outbox.common([self.all, marks])
        at_ms: int = done[0].work.extra["at_ms"]
        found = transactions_of(done)
        names = {name for one in found.values() for name, _ in one.parts if name}
        hashed = dict(
            zip(names, slices_of(name.encode() for name in names).hashes().tolist(), strict=True)
        )
        collections, known = self._collections(hashed)
        self._are_covered = np.isin(collections, list(hashed.values())) & (
            (self.events.transaction != 0) & (not marks.reason)
        )
        seen = self._seen(collections, found, {code: name for name, code in hashed.items()})
        bad: dict[int, str] = {}
        rows = self.rows.setdefault("transactions", [])
        wrong = outbox.not_whole(found, seen, marks, known, is_open_end=marks.end_ms == at_ms)
        for part in wrong:
            one = found[part.key]
            # The first in the alphabet is the worst.
            bad[part.key] = min(bad.get(part.key, "unknown"), part.state)
            if part.is_bound:
                self.bounds[""].append(one.committed_ms)
            if len(rows) < MOST_LISTED:
                rows.append(_row_of(part, one, at_ms))
        self.facts["transactions"] = len(found)
        self.facts.update(f"{state}_transactions" for state in bad.values())
        until_ms = marks.end_ms - outbox.IN_FLIGHT_MS
        ended = [one for one in found.values() if (one.end_ms or until_ms + 1) <= until_ms]
        settled = [one.committed_ms for one in ended if one.committed_ms is not None]
        self.newest[""] = max(settled, default=None)

    def _collections(self, hashed: Mapping[str, int]) -> tuple[Int64s, dict[str, Horizon]]:
        """Return the collection of each event, 0: unknown, and the horizons of those that were read.

        Without a field for it, a topic PREFIX.COLLECTION has those of its collection, as Debezium names it.
        """
        events = self.events
        if self.extractor.has("collection"):
            present = set(np.unique(events.collection).tolist())
            return events.collection, {n: self.all for n, code in hashed.items() if code in present}
        codes, known = np.zeros(len(events.topics), np.int64), dict[str, Horizon]()
        for number, topic in enumerate(events.topics):
            fitting = [n for n in hashed if n and (topic == n or topic.endswith(f".{n}"))]
            if fitting:
                name = max(fitting, key=len)
                codes[number] = hashed[name]
                both = [known[name]] if name in known else []
                known[name] = outbox.common([*both, self.horizons[topic]])
        return codes[events.topic], known

    def _seen(
        self, collections: Int64s, found: Mapping[int, Transaction], names: Mapping[int, str]
    ) -> dict[tuple[int, str], int]:
        """Return how many different events each transaction has by collection.

        Events are the same by their id, without one by their sequence; without both each is another one.
        """
        events = self.events
        wanted = np.isin(events.transaction, np.fromiter(found, np.int64, len(found)))
        at = np.flatnonzero(wanted & np.isin(collections, list(names)))
        if not len(at):
            return {}
        has_id, numbers = events.id[at] != 0, events.sequence[at]
        numbers = np.where(has_id, 0, np.where(numbers != ABSENT, numbers, -at - 1))
        scopes = np.where(has_id, 0, self._scopes[at])
        parts = (events.transaction[at], collections[at], events.id[at], scopes, numbers)
        pairs = np.unique(np.stack(parts), axis=1)[:2]
        pairs, counts = np.unique(pairs, axis=1, return_counts=True)
        return {
            (key, names[code]): count
            for (key, code), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
        }

    def judge_topics(self) -> None:
        """Measure the delays, and say up to when each topic is complete."""
        events = self.events
        for code, topic in enumerate(events.topics):
            at = np.flatnonzero(events.topic == code)
            times, committed, appended = events.time[at], events.committed[at], events.appended[at]
            found = outbox.delays(times, committed, appended)
            self.facts["negative"] += found.negative
            is_settled = self._sent_ms[at] <= self.horizons[topic].end_ms - outbox.IN_FLIGHT_MS
            newest = committed[(committed != ABSENT) & is_settled]
            self.newest[topic] = int(newest.max()) if len(newest) else None
            why = self._why_unknown(topic, at)
            bounds = [*self.bounds[""], *self.bounds[topic]]
            inputs = [self.newest[name] for name in (topic, "") if name in self.newest]
            up_to = None if why else outbox.complete_up_to(inputs, bounds)
            clock = "none" if not len(at) else "mixed"
            if len(at) and appended.min() == appended.max():
                clock = "append_time" if appended[0] else "create_time"
            self.rows.setdefault("topics", []).append(
                {
                    "topic": topic,
                    "events": len(at),
                    "without_id": int((events.id[at] == 0).sum()),
                    "clock": clock,
                    "measured": len(found.values),
                    "unmeasured": found.unmeasured,
                    "negative": found.negative,
                    **dict(zip(_RANKS, outbox.spread(found.values), strict=True)),
                    "duplicates": int(self._copies[code]),
                    "missing": self._missing[topic],
                    "newest_ms": int(committed.max()) if (committed != ABSENT).any() else None,
                    "complete_up_to_ms": up_to,
                    "reason": why or ("" if up_to is not None else "no_commit_time"),
                }
            )

    def _why_unknown(self, topic: str, at: Int64s) -> str:
        events = self.events
        if not len(at):
            return "idle"
        if self.newest[topic] is None:
            return "no_commit_time" if (events.committed[at] == ABSENT).all() else "in_flight"
        # The newest number of a scope has none after it that shows whether it is the last one.
        is_own = self._has_sequence and not self.extractor.has("sequence_scope")
        has_sequence = is_own and (events.sequence[at] != ABSENT).all()
        return "" if has_sequence or self._are_covered[at].all() else "no_evidence"


def judged(done: Sequence[Reduced], extractor: Extractor) -> Judging:
    """Judge the events and, where it was read, the transaction topic."""
    events = [one for one in done if "events" in one.tables]
    marks = [one for one in done if "marks" in one.tables]
    found = Judging(events_of(events), horizons_of(events, "events"), extractor)
    found.judge_duplicates()
    found.judge_gaps()
    if marks:
        found.judge_transactions(marks)
    found.judge_topics()
    return found


def transactions_of(done: Sequence[Reduced]) -> dict[int, Transaction]:
    """Return the transactions by their hash; of records that came twice the first one counts."""
    found: dict[int, Transaction] = {}
    for where, row in _mark_rows(done):
        key, time_ms, place = row["transaction"], row["time"], (*where, row["offset"])
        status = (row["status"] or "").upper()
        if not key or status not in {"BEGIN", "END"}:
            continue
        one = found.setdefault(key, Transaction(place))
        if one.committed_ms is None:
            one.committed_ms = _moment(row["committed"])
        if status == "BEGIN" and one.begin_ms is None:
            one.begin_ms = time_ms
        elif status == "END" and one.end_ms is None:
            one.end_ms, one.place, one.parts = time_ms, place, _parts(row)
    return found


def _mark_rows(done: Sequence[Reduced]) -> Iterator[tuple[tuple[str, int], Row]]:
    for one in done:
        for batch in one.tables["marks"].to_batches(10_000):
            for row in batch.to_pylist():
                yield one.work.spans[0].where, row


def _parts(row: Row) -> list[tuple[str, int | None]]:
    names, counts = (
        orjson.loads(row[name] or "[]") for name in ("collections", "collection_counts")
    )
    if names and len(names) == len(counts) and all(one.isdecimal() for one in counts):
        return list(zip(names, map(int, counts), strict=True))
    count = row["event_count"]
    return [("", count if count > 0 else None)] if count else []


def _row_of(part: outbox.Part, one: Transaction, at_ms: int) -> Row:
    since_ms = one.begin_ms if one.end_ms is None else one.end_ms
    values = part._asdict()
    del values["key"]
    return {
        **values,
        "missing": None if part.expected is None else part.expected - (part.seen or 0),
        "since_ms": since_ms,
        "age_ms": None if since_ms is None else at_ms - since_ms,
        **dict(zip(("topic", "partition", "offset"), one.place, strict=True)),
    }


def _moment(value: Any, absent: int = ABSENT) -> int | None:
    return None if value == absent else int(value)
