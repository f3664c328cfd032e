"""News of partitions, brokers and settings from the changes of the followed metadata log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from django.db import transaction

from console.availability.collection.min_isr_settings import MinIsrSettings
from console.availability.collection.observer_roles import ObserverRoles
from console.availability.collection.rollup_writer import RollupWriter
from console.availability.collection.status_rows import PartitionId, PartitionUpdate, seen_of
from console.availability.collection.status_writer import StatusWriter
from console.availability.status.broker_models import Source
from console.availability.status.brokers import BrokerStatusWriter
from console.availability.status.models import AvailabilityRound, PartitionStatus
from console.clusters.models import Cluster
from console.quorum import queries as quorum
from jobs.availability.status.min_isr import read_min_isr
from jobs.availability.status.partition_seen import (
    MIN_ISR_CHANGED,
    OBSERVERS_CHANGED,
    PartitionSeen,
)
from jobs.availability.status.severity import Moves

MIN_ISR = "min.insync.replicas"
_KINDS = (
    quorum.ChangeKind.PARTITION,
    quorum.ChangeKind.TOPIC,
    quorum.ChangeKind.BROKER,
    quorum.ChangeKind.CONFIG,
)
# So many changes are taken in at once, and so long one run reads on before it lets others have their turn.
PORTION, LONGEST_S = 2000, 45.0
# What only a snapshot tells may have been at any time before it.
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_NO_LEADER = -1


class LogReader:
    """Reads a metadata log on from the round's cursor, portion by portion."""

    def __init__(
        self, cluster: Cluster, log: quorum.Log, row: AvailabilityRound, now: datetime
    ) -> None:
        self._cluster = cluster
        self._log = log
        self._round = row
        self._roles = ObserverRoles(cluster)
        self._min_isr = MinIsrSettings(cluster, is_log_known=True)
        self._brokers = BrokerStatusWriter(cluster)
        self._counts = RollupWriter(cluster, row, self._brokers.racks, now)

    def read(self, clock: Callable[[], float] = time.monotonic) -> bool:
        """Take in what is new; return whether the end was reached within the time of one run."""
        begun = clock()
        while clock() - begun < LONGEST_S:
            changes = quorum.changes_after(self._log, self._place, _KINDS, PORTION)
            if changes:
                self._take(changes)
            if len(changes) < PORTION:
                return True
        return False

    def settle(self, now: datetime, *, is_described_anew: bool) -> None:
        """At the end of the log: judge by what it does not tell, and bring the counts up to now.

        That are settings of brokers, and which replicas are observers.
        """
        with transaction.atomic():
            if is_described_anew:
                known = _known_settings(self._cluster)
                topics = self._min_isr.differing(known) | self._observed({t for t, _, _ in known})
                topics |= self._asked_for_more()
                if topics:
                    self._judge_again(sorted(topics), now, None)
            self._counts.pass_time(now, Source.LOG)
            self._counts.save()

    def _observed(self, topics: set[str]) -> set[str]:
        """Return the topics that have observers by their placement, or had them when last judged."""
        brokers = tuple(self._brokers.ids)
        before = PartitionStatus.objects.filter(cluster=self._cluster).exclude(observers=[])
        found = {topic for topic in topics if self._roles.observers(topic, brokers)}
        return found | set(before.order_by().values_list("topic", flat=True).distinct())

    def _asked_for_more(self) -> set[str]:
        """Return the topics whose verdict depends on the brokers' release."""
        rows = PartitionStatus.objects.filter(cluster=self._cluster, is_rf_below_min=True)
        return set(rows.order_by().values_list("topic", flat=True).distinct())

    @property
    def _place(self) -> quorum.Place:
        row = self._round
        return row.cursor, row.cursor_offset, row.cursor_number

    def _take(self, changes: Sequence[quorum.Change]) -> None:
        last = changes[-1]
        with transaction.atomic():
            for is_partition, some in groupby(changes, lambda one: one.kind == "partition"):
                if is_partition:
                    self._write([self._news(one) for one in some])
                else:
                    self._take_others(some)
            self._brokers.save()
            self._min_isr.save()
            self._counts.save()
            self._round.cursor = last.effective_offset
            self._round.cursor_offset, self._round.cursor_number = last.offset, last.number
            self._round.save(
                update_fields=["cursor", "cursor_offset", "cursor_number", "sampled_s"]
            )

    def _write(self, news: Sequence[PartitionUpdate], stored: Any = None) -> None:
        writer = StatusWriter(self._cluster, Source.LOG, self._counts)
        writer.take(news, stored)
        writer.save()

    def _news(self, change: quorum.Change) -> PartitionUpdate:
        partition = change.partition or 0
        place = PartitionId(change.topic or change.topic_id, change.topic_id, partition)
        if change.is_removed:
            return PartitionUpdate(place, change.at, None, cause=change.cause, offset=change.offset)
        least = self._min_isr.of(place.topic)
        seen = seen_in(change)
        moves = Moves(seen.adding, seen.removing)
        observers = self._roles.observers(place.topic, seen.replicas, moves)
        judged = self._with(seen, least.value, observers)
        return PartitionUpdate(place, change.at, judged, least.origin)

    def _take_others(self, changes: Iterator[quorum.Change]) -> None:
        for change in changes:
            if change.kind == quorum.ChangeKind.BROKER:
                if self._brokers.note(change):
                    self._counts.move_racks(self._brokers.racks)
            elif change.kind == quorum.ChangeKind.TOPIC:
                if change.is_removed:
                    self._min_isr.note(change.topic, None, change.offset)
            else:
                self._take_setting(change)

    def _take_setting(self, change: quorum.Change) -> None:
        kind, resource, name = setting_of(quorum.key_of(change))
        if name != MIN_ISR or kind not in {"TOPIC", "BROKER"} or (kind == "BROKER" and resource):
            return
        value = None if change.is_removed else read_min_isr(change.state.get("value"))
        self._min_isr.note(resource, value, change.offset)
        self._judge_again([resource] if resource else None, change.at, change.offset)

    def _judge_again(self, topics: Sequence[str] | None, at: datetime, offset: int | None) -> None:
        """Judge partitions of topics (None: of all) by the values that hold now."""
        rows = PartitionStatus.objects.filter(cluster=self._cluster)
        rows = rows if topics is None else rows.filter(topic__in=topics)
        stored = {row.key: row for row in rows}
        news = []
        for row in stored.values():
            least = self._min_isr.of(row.topic)
            moves = Moves(row.adding, row.removing)
            observers = self._roles.observers(row.topic, row.replicas, moves)
            now = (least.value, least.origin.value, self._min_isr.limits(least.value, row.replicas))
            is_same = now == (row.min_insync_replicas, row.min_isr_origin, row.limits_min_isr)
            if is_same and list(observers) == row.observers:
                continue
            cause = OBSERVERS_CHANGED if is_same else MIN_ISR_CHANGED
            seen = replace(
                self._with(seen_of(row), least.value, observers),
                at=at,
                cause=cause,
                cause_broker=None,
                offset=offset,
            )
            news.append(
                PartitionUpdate(
                    PartitionId(row.topic, row.topic_id, row.partition), at, seen, least.origin
                )
            )
        self._write(news, stored)

    def _with(
        self, seen: PartitionSeen, least: int | None, observers: tuple[int, ...]
    ) -> PartitionSeen:
        limits = self._min_isr.limits(least, seen.replicas)
        return replace(seen, min_insync_replicas=least, limits_min_isr=limits, observers=observers)


def seen_in(change: quorum.Change) -> PartitionSeen:
    """Return what a partition became by a change of the metadata log, as far as the log tells."""
    state = change.state
    leader = state.get("leader", _NO_LEADER)
    return PartitionSeen(
        at=change.at,
        replicas=tuple(state.get("replicas", ())),
        isr=tuple(state.get("isr", ())),
        leader=None if leader == _NO_LEADER else leader,
        adding=tuple(state.get("adding", ())),
        removing=tuple(state.get("removing", ())),
        elr=tuple(state.get("elr") or ()),
        last_known_elr=tuple(state.get("last_known_elr") or ()),
        leader_epoch=state.get("leader_epoch"),
        partition_epoch=state.get("partition_epoch"),
        cause=change.cause,
        cause_broker=change.broker,
        offset=change.offset,
        is_unclean=change.is_unclean,
        not_before=None if change.is_dated else ANY_TIME,
    )


def setting_of(key: str) -> tuple[str, str, str]:
    """Return resource type, resource name and setting of a setting's key."""
    kind, _, rest = key.partition(":")
    resource, _, name = rest.rpartition(":")
    return kind, resource, name


def _known_settings(cluster: Cluster) -> list[tuple[str, int | None, str]]:
    rows = PartitionStatus.objects.filter(cluster=cluster).order_by()
    return list(rows.values_list("topic", "min_insync_replicas", "min_isr_origin").distinct())
