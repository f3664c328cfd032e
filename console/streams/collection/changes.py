"""What a new snapshot changes, against the snapshot before the row that is written."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from console.streams.models import StreamsApplication, StreamsSnapshot
from jobs import limits
from jobs.streams.application import Application
from jobs.streams.rebalances.changes import Change
from jobs.streams.rebalances.comparison import (
    after_another,
    as_watched,
    change_between,
    first_seen,
)
from jobs.streams.stored import OtherForm, unpack_application

# An application that was not described for longer was not watched.
MOST_ROUNDS = 3


def change_of(
    row: StreamsApplication,
    known: StreamsApplication | None,
    application: Application,
    now: datetime,
    *,
    is_taken: bool,
) -> Change:
    """Return the change that a snapshot keeps; `known` is the row as it was before this round.

    `is_taken`: the snapshot replaces the newest row, so its change adds to the change of that row.
    """
    kept = list(row.snapshots.defer("changelogs").order_by("-pk")[: 1 + is_taken])
    base = kept[is_taken] if len(kept) > is_taken else None
    before = None if base is None else _application(base)
    if base is None or before is None:
        return first_seen(application)
    longest_s = MOST_ROUNDS * settings.STREAMS_INTERVAL_S
    whole_at = known.facts_at if known is not None and known.facts_at else base.taken_at
    seen_at = known.last_seen_at if known is not None else base.taken_at
    since_ms, is_gap = int(whole_at.timestamp() * 1000), (now - seen_at).total_seconds() > longest_s
    change = change_between(before, application)
    replaced = Change.from_json(kept[0].change) if is_taken else None
    if replaced is not None and replaced.since_ms is not None:
        between_s = (application.observed_at_ms - replaced.at_ms) / 1000
        is_gap = is_gap or replaced.is_gap or between_s > limits.SNAPSHOT_EVERY_S
        since_ms = min(since_ms, replaced.since_ms)
        change = after_another(change, replaced)
    return as_watched(
        change,
        since_ms,
        Change.from_json(base.change),
        is_gap=is_gap,
        was_empty=known is not None and known.threads == 0,
    )


def _application(snapshot: StreamsSnapshot) -> Application | None:
    try:
        return unpack_application(bytes(snapshot.content))
    except OtherForm:
        return None
