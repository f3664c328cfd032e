"""What the metadata log and recorded events say of the minutes around changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.metadata.before_a_moment import EVENTS, sentence_of
from jobs.spark.analyses.metadata.log_history import open_history

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

# Moment of the change, time of the event, its kind and text.
_Event = tuple[int, int, str, str]
BEFORE_MS, AFTER_MS = 600_000, 120_000
MOST_CHANGES = 20
# Of each change so many events are listed, the nearest.
MOST_EVENTS = 50
_UNKNOWN = "What happened around the changes is unknown: no metadata log, and there are no recorded events."
_NEAR = f"""
SELECT change_ms, timestamp_ms AS at_ms, what, subject, cause, cause_broker, detail FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY change_ms ORDER BY ABS(timestamp_ms - change_ms), offset, what, subject) AS place
  FROM (SELECT * FROM ({EVENTS})) JOIN changes_of_topics
  ON timestamp_ms >= change_ms - :before_ms AND timestamp_ms <= change_ms + :after_ms)
WHERE place <= {MOST_EVENTS}
"""  # noqa: S608  only constants of this package


def around(
    task: AnalysisTask, changes: Sequence[Mapping[str, Any]], width_ms: int, log: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return rows of events near the first MOST_CHANGES changes, and notes.

    A change is somewhere in its bucket or the one before: the minutes count from these.
    """
    chosen: dict[int, list[str]] = {}
    for one in changes[:MOST_CHANGES]:
        chosen.setdefault(one["at_ms"], []).append(_words(one))
    recorded = task.resources.get("events")
    if not chosen:
        return [], []
    if log is None and recorded is None:
        return [], [_UNKNOWN]
    before_ms, after_ms = BEFORE_MS + width_ms, AFTER_MS + width_ms
    found: list[_Event] = []
    notes: list[str] = []
    if log is not None:
        task.report("Reading the metadata log")
        found, notes = _from_log(task, log, sorted(chosen), (before_ms, after_ms))
    found += _recorded((recorded or {}).get("events", ()), chosen, before_ms, after_ms)
    if len(changes) > MOST_CHANGES:
        of = f"the {MOST_CHANGES} largest of {len(changes):,} changes"
        notes.append(f"Events are listed of {of}.")
    rows: list[dict[str, Any]] = []
    for moment, texts in chosen.items():
        events = sorted((e for e in found if e[0] == moment), key=lambda e: abs(e[1] - moment))
        for _, at_ms, kind, text in sorted(events[:MOST_EVENTS], key=lambda event: event[1]):
            change = {"change_ms": moment, "change": "; ".join(texts)}
            place = {"at_ms": at_ms, "distance_s": round((at_ms - moment) / 1000)}
            rows.append({**change, **place, "kind": kind, "text": text})
    return rows, notes


def _recorded(
    events: Iterable[Mapping[str, Any]], moments: Iterable[int], before_ms: int, after_ms: int
) -> Iterator[_Event]:
    for event in events:
        at_ms, text = event["at_ms"], " ".join(filter(None, (event.get("where"), event["text"])))
        near = (one for one in moments if one - before_ms <= at_ms <= one + after_ms)
        yield from ((one, at_ms, event["kind"], text) for one in near)


def _words(change: Mapping[str, Any]) -> str:
    factor = change["factor"]
    size = "from 0" if factor is None else f"x {factor:.2f}"
    return f"{change['topic']}: {change['series'].replace('_', ' ')} {size}"


def _from_log(
    task: AnalysisTask, log: str, moments: list[int], near_ms: tuple[int, int]
) -> tuple[list[_Event], list[str]]:
    history = open_history(task, log)
    before_ms, after_ms = near_ms
    since_ms, at_ms = moments[0] - before_ms, moments[-1] + after_ms
    notes = list(history.notes)
    first, last = history.first_ms, history.last_ms
    if first is None or last is None or since_ms < first or at_ms > last:
        notes.append(
            f"The metadata log is of {iso(first) or 'an unknown time'} to {iso(last) or 'an unknown time'}: "
            "what happened before and after is not known."
        )
    spark = task.spark
    rows = [(one,) for one in moments]
    spark.createDataFrame(rows, "change_ms BIGINT").createOrReplaceTempView("changes_of_topics")
    args = {"since_ms": since_ms, "at_ms": at_ms, "before_ms": before_ms, "after_ms": after_ms}
    try:
        near = spark.sql(_NEAR, args=args).toArrow().to_pylist()
    finally:
        spark.catalog.dropTempView("changes_of_topics")
    words = itemgetter("subject", "cause", "cause_broker", "detail")
    events = [(n["change_ms"], n["at_ms"], n["what"], sentence_of(*words(n))) for n in near]
    return events, notes
