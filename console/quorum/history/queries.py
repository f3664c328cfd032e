"""Reads of changes: search, state at an offset or a time, differences between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Min, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from console.frame.pages.timerange import TimeRange
from console.quorum.labels import RETURNING, Kind, told_changes
from console.quorum.models import MetadataChange, MetadataLog, MetadataSubject

# More than a picture can show; the table has all of them.
MOST_CHANGES = 2000
# By so much the clocks of two controllers are taken to disagree at most.
CLOCK_MARGIN = timedelta(minutes=10)
# So many changes between two moments are compared at most.
MOST_COMPARED = 200_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in a log: everything up to and with `offset`; `at` is the time asked for, if one was."""

    offset: int
    at: datetime | None = None


class OutsideHistory(Exception):
    """Nothing is known of the moment."""


class BeforeHistory(OutsideHistory):
    """The moment lies before the first record that is known."""


class AfterHistory(OutsideHistory):
    """The moment lies in the future, or after the last record that is known."""


def list_changes(log: MetadataLog | None = None, kind: str = "") -> QuerySet[MetadataChange]:
    """Return changes with their log, of one log and one kind when they are named."""
    rows = MetadataChange.objects.select_related("log__cluster", "subject")
    if log is not None:
        rows = rows.filter(log=log.pk or 0)
    return rows.filter(kind=kind) if kind else rows


def moment_at(log: MetadataLog, at: datetime) -> Moment:
    """Return the moment before the first record that is later than a time, by the clock of any controller.

    Controllers' clocks may jump where the leader changed, so that offsets decide among the records of a few
    minutes. Raises `OutsideHistory`.
    """
    rows = MetadataChange.objects.filter(log=log.pk or 0)
    later = rows.filter(at__gt=at).order_by("at").values_list("at", flat=True).first()
    if later is None and at > timezone.now():
        raise AfterHistory(
            f"{at:%Y-%m-%d %H:%M:%S} UTC is in the future: enter a time in the past."
        )
    if later is None:
        newest = Moment(log.next_offset - 1, at)
    else:
        near = rows.filter(at__gt=at, at__lte=later + CLOCK_MARGIN)
        newest = Moment((near.aggregate(first=Min("offset"))["first"] or 0) - 1, at)
    is_known = rows.filter(at__lte=at).exists()
    if not is_known or log.first_offset is None or newest.offset < log.first_offset:
        raise BeforeHistory(_before(log, f"{at:%Y-%m-%d %H:%M:%S} UTC"))
    return newest


def moment_of(log: MetadataLog, offset: int) -> Moment:
    """Return the moment after the record at an offset; raises `OutsideHistory`."""
    if log.first_offset is None or offset < log.first_offset:
        raise BeforeHistory(_before(log, f"Offset {offset:,}"))
    if offset >= log.next_offset:
        raise AfterHistory(
            f"Offset {offset:,} does not exist yet: the last known record of {log.label} is at "
            f"{log.next_offset - 1:,}."
        )
    return Moment(offset)


def states_at(log: MetadataLog, moment: Moment, kind: str) -> QuerySet[MetadataSubject]:
    """Return the subjects of one kind at a moment, topics and partitions in the order of their names."""
    there = MetadataSubject.objects.filter(log=log.pk or 0, kind=kind)
    there = there.filter(first_offset__lte=moment.offset)
    there = there.filter(Q(gone_offset=None) | Q(gone_offset__gt=moment.offset))
    if kind in RETURNING:
        there = there.annotate(was_gone=_newest(moment, "is_removed")).exclude(was_gone=True)
    return there


def with_states(rows: Sequence[Any], moment: Moment) -> Sequence[Any]:
    """Set `state` and `since` (an offset) of subjects, None for what was not there; two queries.

    It costs a few index look-ups per subject: a page of them is fast, however long the history is.
    """
    asked = MetadataSubject.objects.filter(pk__in=[row.pk for row in rows]).order_by()
    newest = dict(asked.annotate(newest=_newest(moment)).values_list("pk", "newest"))
    found = MetadataChange.objects.in_bulk([pk for pk in newest.values() if pk])
    for row in rows:
        change = found.get(newest.get(row.pk) or 0)
        is_there = change is not None and not change.is_removed
        row.state = change.state if change is not None and is_there else None
        row.since = change.offset if change is not None and is_there else None
    return rows


def annotated_states(rows: QuerySet[Any], moment: Moment) -> QuerySet[Any]:
    """Return the same as `with_states` as part of a query, for exports."""
    told: QuerySet[Any] = rows.annotate(
        state=_newest(moment, "state"), since=_newest(moment, "offset")
    )
    return told


def with_previous(rows: Sequence[Any]) -> Sequence[Any]:
    """Set `previous` of changes: the change of the same subject before it (None: the first); two queries."""
    if not rows:
        return rows
    own = MetadataChange.objects.filter(
        subject=OuterRef("subject"), effective_offset__lt=OuterRef("effective_offset")
    ).order_by("-effective_offset", "-number")
    asked = MetadataChange.objects.filter(pk__in=[row.pk for row in rows]).order_by()
    told = asked.annotate(before=Subquery(own.values("pk")[:1])).values_list("pk", "before")
    before = dict(told)
    found = MetadataChange.objects.in_bulk([pk for pk in before.values() if pk])
    for row in rows:
        row.previous = found.get(before.get(row.pk) or 0)
    return rows


@dataclass(frozen=True, slots=True)
class Difference:
    """The change of one subject between two moments: `word` is added, removed, changed or the same again.

    `fields` are (name, before, after) of what differs; `count` changes lie between.
    """

    subject: MetadataSubject
    word: str
    fields: tuple[tuple[str, Any, Any], ...]
    count: int
    last: MetadataChange

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """What differs, for people."""
        return told_changes({name: (before, after) for name, before, after in self.fields})


def differences(
    log: MetadataLog, before: Moment, after: Moment, kind: str = ""
) -> list[Difference]:
    """Return what differs between two moments, in the order of the last change.

    Of more than `MOST_COMPARED` changes only the newest are looked at.
    """
    between = (
        list_changes(log, kind)
        .select_related(None)
        .filter(effective_offset__gt=before.offset, effective_offset__lte=after.offset)
    )
    counts: dict[int, int] = {}
    last: dict[int, int] = {}
    rows = between.order_by("-offset", "-number").values_list("subject_id", "pk")
    for subject, pk in rows[:MOST_COMPARED]:
        counts[subject] = counts.get(subject, 0) + 1
        last.setdefault(subject, pk)
    subjects = list(MetadataSubject.objects.in_bulk(list(last)).values())
    newest = MetadataChange.objects.in_bulk(list(last.values()))
    found = with_states(subjects, before)
    made = (_difference(row, newest[last[row.pk]], counts[row.pk]) for row in found)
    return sorted(made, key=lambda one: (one.last.offset, one.last.number))


def _difference(row: Any, last: MetadataChange, count: int) -> Difference:
    before = row.state
    after = None if last.is_removed else last.state
    fields = tuple(_fields(before or {}, after or {}))
    if before is None:
        word = "came and went" if after is None else "added"
    elif after is None:
        word = "removed"
    else:
        word = "changed" if fields else "the same again"
    return Difference(row, word, fields, count, last)


def _fields(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


def history_of(
    log: MetadataLog, time_range: TimeRange, subjects: QuerySet[MetadataSubject]
) -> dict[int, list[MetadataChange]]:
    """Return the changes of subjects in a time range, and the one before it; three queries."""
    keys = list(subjects.values_list("pk", flat=True)[:MOST_CHANGES])
    rows = MetadataChange.objects.filter(subject__in=keys)
    inside = rows.filter(at__gte=time_range.start, at__lte=time_range.end)
    found = list(inside.order_by("-offset", "-number")[:MOST_CHANGES])
    first = last_before(MetadataSubject.objects.filter(pk__in=keys), time_range.start)
    by_subject: dict[int, list[MetadataChange]] = {pk: [] for pk in keys}
    for change in sorted([*first.values(), *found], key=lambda one: (one.offset, one.number)):
        by_subject[change.subject_id].append(change)
    return by_subject


def last_before(subjects: QuerySet[MetadataSubject], at: datetime) -> dict[int, MetadataChange]:
    """Return the last change before a time of each subject that has one; two queries."""
    rows = subjects.annotate(change_id=_newest_before(at)).values_list("pk", "change_id")
    last = {pk: change for pk, change in rows if change}
    found = MetadataChange.objects.in_bulk(list(last.values()))
    return {pk: found[change] for pk, change in last.items()}


def list_topics(log: MetadataLog) -> QuerySet[MetadataSubject]:
    """Return topics, also those that are gone."""
    return MetadataSubject.objects.filter(log=log.pk or 0, kind=Kind.TOPIC)


def list_subjects(log: MetadataLog, kind: str) -> QuerySet[MetadataSubject]:
    """Return the subjects of one kind, also those that are gone."""
    return MetadataSubject.objects.filter(log=log.pk or 0, kind=kind)


def _newest(moment: Moment, field: str = "pk") -> Subquery:
    own = MetadataChange.objects.filter(subject=OuterRef("pk"), effective_offset__lte=moment.offset)
    return Subquery(own.order_by("-effective_offset", "-number").values(field)[:1])


def _newest_before(at: datetime) -> Subquery:
    own = MetadataChange.objects.filter(subject=OuterRef("pk"), at__lt=at)
    return Subquery(own.order_by("-effective_offset", "-number").values("pk")[:1])


def _before(log: MetadataLog, asked: str) -> str:
    if log.first_offset is None:
        return f"crosslog has not read the metadata log of {log.label} yet."
    return (
        f"{asked} is before the known range: the history of {log.label} begins at offset "
        f"{log.first_offset:,}."
    )
