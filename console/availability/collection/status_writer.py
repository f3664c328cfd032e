"""Takes in what partitions became and writes it, in bulk: statuses, stretches, elections, churn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F

from console.availability.collection.open_intervals import WHOLE, OpenIntervals, parts
from console.availability.collection.rollup_writer import RollupWriter
from console.availability.collection.status_rows import (
    PartitionUpdate,
    began,
    placed_of,
    polled_moment,
    track_of,
    values_of,
)
from console.availability.status.broker_models import BrokerChurn, Source
from console.availability.status.models import (
    OutOfSyncSpan,
    PartitionStatus,
    PolledMoment,
    SeveritySpan,
    UncleanElection,
)
from console.clusters.collection.rows import BATCH, insert, remove, update_changed
from console.clusters.models import Cluster, Partition
from jobs.availability.status.interval_tracker import PartitionTrack, TrackStep, follow
from jobs.availability.status.partition_seen import Churn, churn_of, hour_of
from jobs.availability.status.severity import Severity


class StatusWriter:
    """One portion of news of a cluster; `take` it, then `save` within a transaction."""

    def __init__(self, cluster: Cluster, source: Source, counts: RollupWriter) -> None:
        self._cluster = cluster
        self._source = source
        self._counts = counts
        self._rows: dict[str, PartitionStatus] = {}
        self._changed: dict[str, PartitionStatus] = {}
        self._names: dict[str, set[str]] = {}
        self._gone: list[PartitionStatus] = []
        self._severities: OpenIntervals[SeveritySpan] = OpenIntervals(SeveritySpan)
        self._absences: OpenIntervals[OutOfSyncSpan] = OpenIntervals(OutOfSyncSpan)
        self._unclean: list[UncleanElection] = []
        self._churn: dict[tuple[int, Any], Churn] = {}
        self._moments: list[PolledMoment] = []

    def take(
        self, news: Sequence[PartitionUpdate], stored: Mapping[str, PartitionStatus] | None = None
    ) -> None:
        """Take in news in the order in which they happened; `stored` are the rows where they are known."""
        keys = list(dict.fromkeys(one.place.key for one in news))
        self._rows = (
            self._stored(keys) if stored is None else {k: stored[k] for k in keys if k in stored}
        )
        troubled = [key for key, row in self._rows.items() if row.severity or row.missing_text]
        for part in parts(troubled):
            self._severities.load(self._cluster, part)
            self._absences.load(self._cluster, part)
        self._counts.need_topics({one.place.topic for one in news})
        for one in news:
            self._step(one)
            if self._source is Source.POLL:
                self._moments.append(polled_moment(self._cluster, one))

    def save(self) -> None:
        """Write everything that changed."""
        new = [row for row in self._changed.values() if row.pk is None]
        known = [
            (row, self._names[row.key]) for row in self._changed.values() if row.pk is not None
        ]
        insert(PartitionStatus, new)
        update_changed(PartitionStatus, known)
        remove(PartitionStatus, self._gone)
        self._note_ends()
        self._severities.save()
        self._absences.save()
        insert(UncleanElection, self._unclean)
        insert(PolledMoment, self._moments)
        self._save_churn()

    def _stored(self, keys: Sequence[str]) -> dict[str, PartitionStatus]:
        rows: dict[str, PartitionStatus] = {}
        for part in parts(keys):
            found = PartitionStatus.objects.filter(cluster=self._cluster, key__in=part)
            rows |= {row.key: row for row in found}
        return rows

    def _step(self, news: PartitionUpdate) -> None:
        row = self._rows.get(news.place.key)
        before = None if row is None else track_of(row, self._absences.of(row.key).values())
        if news.seen is None:
            if row is not None and before is not None:
                self._end(row, before, news)
            return
        step = follow(before, news.seen)
        self._counts.move(
            step.at,
            placed_of(row.topic if row else "", before),
            placed_of(news.place.topic, step.track),
        )
        self._write_stretches(step, news)
        if before is not None:
            self._note_restlessness(before, step, news)
        self._write_status(row, step, news)

    def _write_status(
        self, row: PartitionStatus | None, step: TrackStep, news: PartitionUpdate
    ) -> None:
        key = news.place.key
        if row is None:
            row = PartitionStatus(
                cluster=self._cluster,
                key=key,
                partition=news.place.partition,
                known_since=step.at,
            )
            self._rows[key] = row
        names = self._names.setdefault(key, set())
        for name, value in values_of(step, news, self._source, row.worst_lag).items():
            if getattr(row, name) != value:
                setattr(row, name, value)
                names.add(name)
        self._changed[key] = row

    def _write_stretches(self, step: TrackStep, news: PartitionUpdate) -> None:
        key, track = news.place.key, step.track
        if step.ended is not None:
            self._severities.end(key, WHOLE, step, news)
        if track.standing.severity and (step.ended is not None or not step.was_known):
            values = self._of(news) | began(track.since)
            self._severities.begin(
                WHOLE, SeveritySpan(severity=track.standing.severity.value, **values)
            )
        for broker in step.joined:
            self._absences.end(key, broker, step, news)
        out = track.out if not step.was_known else {one: track.out[one] for one in step.left}
        for broker, begin in out.items():
            values = self._of(news) | began(begin)
            self._absences.begin(broker, OutOfSyncSpan(broker=broker, **values))

    def _of(self, news: PartitionUpdate) -> dict[str, Any]:
        place = news.place
        return {
            "cluster_id": self._cluster.pk,  # the row itself would be checked thousands of times
            "key": place.key,
            "topic": place.topic,
            "partition": place.partition,
            "source": self._source.value,
        }

    def _note_restlessness(
        self, before: PartitionTrack, step: TrackStep, news: PartitionUpdate
    ) -> None:
        seen = step.track.seen
        for broker, churn in churn_of(before.seen, seen):
            self._churn.setdefault((broker, hour_of(step.at)), Churn()).add(churn)
        if seen.is_unclean:
            place = news.place
            election = UncleanElection(
                cluster=self._cluster,
                key=place.key,
                topic=place.topic,
                partition=place.partition,
                at=step.at,
                offset=seen.offset,
                leader=seen.leader,
                isr_before=list(before.seen.isr),
            )
            self._unclean.append(election)

    def _end(self, row: PartitionStatus, before: PartitionTrack, news: PartitionUpdate) -> None:
        """A partition is gone with its topic; its past stays."""
        at = max(news.at, before.since.at)
        self._counts.move(at, placed_of(row.topic, before), None)
        step = TrackStep(
            before, at, (Severity(row.severity), before.since), joined=tuple(before.out)
        )
        if row.severity:
            self._severities.end(row.key, WHOLE, step, news)
        for broker in before.out:
            self._absences.end(row.key, broker, step, news)
        self._changed.pop(row.key, None)
        self._rows.pop(row.key, None)
        if row.pk is not None:
            self._gone.append(row)

    def _note_ends(self) -> None:
        """Write at absences where the partition ended when it was last looked at: two queries a portion."""
        new = self._absences.created
        ends: dict[tuple[str, int], int | None] = {}
        for part in parts(sorted({one.topic for one in new})):
            rows = Partition.objects.filter(cluster=self._cluster, topic__name__in=part)
            for topic, number, end in rows.values_list("topic__name", "partition", "end_offset"):
                ends[topic, number] = end
        for one in new:
            one.left_end_offset = ends.get((one.topic, one.partition))

    def _save_churn(self) -> None:
        for hour in {hour for _, hour in self._churn}:
            counted = {broker: c for (broker, at), c in self._churn.items() if at == hour}
            _add_churn(self._cluster, hour, counted)


def _add_churn(cluster: Cluster, hour: Any, counted: Mapping[int, Churn]) -> None:
    missing = [BrokerChurn(cluster=cluster, broker_id=b, hour=hour) for b in counted]
    BrokerChurn.objects.bulk_create(missing, batch_size=BATCH, ignore_conflicts=True)
    for broker, churn in counted.items():
        BrokerChurn.objects.filter(cluster=cluster, broker_id=broker, hour=hour).update(
            shrinks=F("shrinks") + churn.shrinks,
            expands=F("expands") + churn.expands,
            leaders_won=F("leaders_won") + churn.leaders_won,
            leaders_lost=F("leaders_lost") + churn.leaders_lost,
            unclean=F("unclean") + churn.unclean,
        )
