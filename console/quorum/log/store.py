"""Rows of a metadata log: what a portion of records came to, written so that a second time does no harm."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet

from console.frame.processes import liveness
from console.quorum.log import gaps, log_fold
from console.quorum.log.change_rows import ChangeRow, row_of, type_of
from console.quorum.log.change_texts import TextLimit
from console.quorum.log.log_fold import Portion
from console.quorum.models import (
    ControllerSilence,
    Election,
    MetadataChange,
    MetadataLog,
    MetadataSubject,
    VoterSetEntry,
)
from console.quorum.voters.timelines import replica_name
from jobs.quorum.health.elections import STORM_MS, in_storm
from jobs.quorum.history.changes import AnyChange
from jobs.quorum.timeline import parts
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode

BATCH = 500
# Rows are written at 3,000 a second, and other writers of SQLite wait 20 s at most.
MOST_AT_ONCE = 5_000
Row = tuple[AnyChange, int, str | None, ChangeRow]


def save_portion(log: MetadataLog, told: Portion, now: datetime) -> None:
    """Write changes, voters, elections and how far the log is known.

    A snapshot is one portion, however large: its changes are written in several transactions, so that no
    other writer waits for all of them. How far the log is known is in the last one.
    """
    texts = TextLimit(log, now)
    pieces = [
        told.changes[at : at + MOST_AT_ONCE] for at in range(0, len(told.changes), MOST_AT_ONCE)
    ]
    for piece in pieces[:-1]:
        rows = _rows(piece, texts)
        with transaction.atomic():
            _save_changes(log, rows, now)
    rows = _rows(pieces[-1] if pieces else [], texts)
    with transaction.atomic():
        _save_changes(log, rows, now)
        _save_voters(log, told, now)
        _save_progress(log, told)
        texts.tell()


def _rows(changes: Sequence[tuple[AnyChange, int, str | None]], texts: TextLimit) -> list[Row]:
    return [(change, n, kind, texts.within(row_of(change))) for change, n, kind in changes]


def _save_changes(log: MetadataLog, rows: Sequence[Row], now: datetime) -> None:
    subjects = _subjects(log, rows)
    changes = [_change(log, row, subjects[_key(row)], now) for row in rows]
    MetadataChange.objects.bulk_create(changes, batch_size=BATCH, ignore_conflicts=True)


def _save_progress(log: MetadataLog, told: Portion) -> None:
    if told.next_offset is not None:
        if log.start_offset is None:
            log.start_offset = told.first_offset
        log.next_offset = max(log.next_offset, told.next_offset)
        log.last_at = log_fold.at(told.last_ms) or log.last_at
        log.leader_epoch = told.last_epoch
    log.gaps = gaps.known_again(gaps.with_spans(log.gaps, told.missing), told.snapshots)
    log.damage = gaps.with_damages(log.damage, told.damages)
    log.save(update_fields=_PROGRESS)


_PROGRESS = [
    "start_offset",
    "next_offset",
    "last_at",
    "leader_epoch",
    "high_watermark",
    "gaps",
    "damage",
]


def _key(row: Row) -> tuple[str, str]:
    change, _, _, told = row
    return change.kind.value, told.key


def _subjects(log: MetadataLog, rows: Sequence[Row]) -> dict[tuple[str, str], MetadataSubject]:
    """Return the subjects of changes, made where they are new, with whether they are still there."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault(_key(row), row)
    keys = list(first)
    found = _stored(log, keys)
    new = [_subject(log, first[key]) for key in keys if key not in found]
    MetadataSubject.objects.bulk_create(new, batch_size=BATCH, ignore_conflicts=True)
    found |= _stored(log, [key for key in keys if key not in found])
    last = {_key(row): row for row in rows}
    changed = [one for key, one in found.items() if _moved(one, last[key])]
    MetadataSubject.objects.bulk_update(changed, ["gone_offset"], batch_size=BATCH)
    return found


def _stored(
    log: MetadataLog, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], MetadataSubject]:
    found: dict[tuple[str, str], MetadataSubject] = {}
    by_kind: dict[str, list[str]] = {}
    for kind, key in keys:
        by_kind.setdefault(kind, []).append(key)
    for kind, wanted in by_kind.items():
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            for row in MetadataSubject.objects.filter(log=log, kind=kind, key__in=part):
                found[kind, row.key] = row
    return found


def _subject(log: MetadataLog, row: Row) -> MetadataSubject:
    change, _, _, told = row
    return MetadataSubject(
        log=log,
        kind=change.kind.value,
        key=told.key,
        topic=told.topic,
        topic_id=told.topic_id,
        partition=told.partition,
        broker=told.subject_broker,
        name=told.name,
        first_offset=change.effective_offset,
    )


def _moved(subject: MetadataSubject, row: Row) -> bool:
    """Say whether a subject went or came back with the last change of it."""
    change, _, _, told = row
    gone = change.effective_offset if told.is_removed else None
    if subject.gone_offset == gone:
        return False
    subject.gone_offset = gone
    return True


def _change(log: MetadataLog, row: Row, subject: MetadataSubject, now: datetime) -> MetadataChange:
    change, number, record_type, told = row
    dated = log_fold.at(change.timestamp_ms)
    # Of a snapshot's times only the latest possible one is known.
    happened = dated or log_fold.at(change.not_after_ms) or log.last_at or now
    return MetadataChange(
        log=log,
        offset=change.offset,
        number=number,
        effective_offset=change.effective_offset,
        subject=subject,
        kind=change.kind.value,
        type=type_of(change, record_type),
        epoch=change.epoch,
        at=happened,
        is_dated=dated is not None,
        topic=told.topic,
        topic_id=told.topic_id,
        partition=told.partition,
        broker=told.broker,
        cause=change.cause.value,
        election=told.election,
        is_unclean=told.is_unclean,
        is_removed=told.is_removed,
        state=dict(told.state),
    )


def _save_voters(log: MetadataLog, told: Portion, now: datetime) -> None:
    sets = [_voter_set(log, entry, now) for entry in told.entries]
    VoterSetEntry.objects.bulk_create(sets, ignore_conflicts=True)
    silent = {one.to_offset for one in told.silences if one.is_election}
    elections = [_election(log, one, now, silent) for one in told.elections]
    Election.objects.bulk_create(elections, ignore_conflicts=True)
    _mark_storms(log, elections)
    silences = [_silence(log, one, now) for one in told.silences if not one.is_election]
    ControllerSilence.objects.bulk_create(silences, ignore_conflicts=True)


def _mark_storms(log: MetadataLog, new: Sequence[Election]) -> None:
    """Mark the elections of a storm, also those that were stored before its last ones came."""
    if not new:
        return
    since = min(one.at for one in new) - timedelta(milliseconds=STORM_MS)
    rows = list(Election.objects.filter(log=log, at__gte=since).order_by("offset"))
    flags = in_storm([round(one.at.timestamp() * 1000) for one in rows])
    keys = [one.pk for one, is_in in zip(rows, flags, strict=True) if is_in and not one.is_in_storm]
    Election.objects.filter(pk__in=keys).update(is_in_storm=True)


def _voter_set(log: MetadataLog, entry: parts.VoterSetEntry, now: datetime) -> VoterSetEntry:
    change = entry.change
    swapped = {swap.id for swap in change.replaced_disk}
    return VoterSetEntry(
        log=log,
        offset=entry.offset,
        epoch=entry.epoch,
        at=log_fold.at(entry.timestamp_ms) or log.last_at or now,
        voters=[voter_row(voter) for voter in entry.voters],
        added=_names(change.added),
        removed=_names(change.removed),
        moved=[f"{one}" for one in change.endpoints_changed],
        replaced=_names(key for key in change.added if key.id in swapped),
        is_committed=_is_committed(log, entry),
        is_static=entry.is_static,
        anomalies=[code.value.replace("_", " ") for code in entry.anomalies],
    )


def _is_committed(log: MetadataLog, entry: parts.VoterSetEntry) -> bool | None:
    """Snapshots hold committed records only; of others the high watermark tells."""
    if entry.source in {parts.EntrySource.SNAPSHOT, parts.EntrySource.BOOTSTRAP}:
        return True
    return None if log.high_watermark is None else entry.offset < log.high_watermark


def voter_row(voter: VoterNode) -> dict[str, Any]:
    is_named = bool(voter.endpoints)
    return {
        "id": voter.id,
        "directory_id": voter.directory_id,
        "endpoints": [str(one) for one in voter.endpoints],
        "min_version": voter.min_kraft_version if is_named else None,
        "max_version": voter.max_kraft_version if is_named else None,
    }


def _silence(log: MetadataLog, one: parts.ControllerGap, now: datetime) -> ControllerSilence:
    return ControllerSilence(
        log=log,
        from_offset=one.from_offset,
        to_offset=one.to_offset,
        from_at=log_fold.at(one.from_ms) or now,
        to_at=log_fold.at(one.to_ms) or now,
    )


def _election(
    log: MetadataLog, one: parts.Election, now: datetime, silent: Collection[int]
) -> Election:
    return Election(
        log=log,
        offset=one.offset,
        epoch=one.epoch,
        at=log_fold.at(one.timestamp_ms) or log.last_at or now,
        leader_id=one.leader_id,
        voters=[key.id for key in one.voters],
        granting=[key.id for key in one.granting],
        gap_ms=one.gap_ms,
        is_silence=one.offset in silent,
        skipped_epochs=one.skipped_epochs,
        anomalies=[code.value.replace("_", " ") for code in one.anomalies],
    )


def _names(keys: Iterable[ReplicaKey]) -> list[str]:
    return [replica_name({"id": key.id, "directory_id": key.directory_id}) for key in keys]


# Deleted in pieces, so that a follower that wants to write never waits long.
PIECE = 5000


def prune_history(now: datetime) -> int:
    """Remove changes older than METADATA_RETENTION_D days of followed logs; return how many rows.

    Each subject keeps its newest change before the limit, so that every moment from there on is known as
    before; what was gone by then goes wholly. The archive keeps its segments, and imported logs everything.
    """
    limit = now - timedelta(days=settings.METADATA_RETENTION_D)
    followed = MetadataLog.objects.exclude(cluster=None)
    return sum(_prune(log, limit) for log in followed)


def _prune(log: MetadataLog, limit: datetime) -> int:
    offset = _last_offset_before(log, limit)
    if offset is None:
        return 0
    MetadataLog.objects.filter(pk=log.pk).update(pruned_below=offset)
    gone = MetadataSubject.objects.filter(log=log, gone_offset__lte=offset)
    return _delete(gone) + _delete(_outlived(log, offset))


def _last_offset_before(log: MetadataLog, limit: datetime) -> int | None:
    """Return the offset at which the kept history begins, None when nothing is to go.

    Controllers' clocks may jump: changes after the first record that is new enough are kept.
    """
    rows = MetadataChange.objects.filter(log=log)
    first_kept = rows.filter(at__gte=limit).aggregate(first=Min("offset"))["first"]
    old = rows.filter(at__lt=limit)
    if first_kept is not None:
        old = old.filter(effective_offset__lt=first_kept)
    newest: int | None = old.aggregate(newest=Max("effective_offset"))["newest"]
    if newest is not None and log.pruned_below is not None and newest <= log.pruned_below:
        return None
    return newest


def _outlived(log: MetadataLog, offset: int) -> QuerySet[MetadataChange]:
    """Return the changes up to an offset that another one of their subject has followed by then."""
    own = MetadataChange.objects.filter(subject=OuterRef("subject"), effective_offset__lte=offset)
    newer = own.filter(
        Q(effective_offset__gt=OuterRef("effective_offset"))
        | Q(effective_offset=OuterRef("effective_offset"), number__gt=OuterRef("number"))
    )
    return MetadataChange.objects.filter(Exists(newer), log=log, effective_offset__lte=offset)


def _delete(rows: QuerySet[models.Model]) -> int:
    count, last = 0, 0
    # Behind the last piece, so that what stays is not looked at again for each of them.
    while piece := list(
        rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:PIECE]
    ):
        count += rows.model._default_manager.filter(pk__in=piece).delete()[0]
        last = piece[-1]
        liveness.sign()
    return count
