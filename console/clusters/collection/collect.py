"""Collection rounds: ask a cluster -> apply the rules -> write rows and a freshness row, also on failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from console.clusters.collection.brokers import save_brokers, save_versions
from console.clusters.collection.door import ClusterDoor, OpenDoor, open_kafka
from console.clusters.collection.groups import collect_groups
from console.clusters.collection.outcome import Outcome, sentence_about
from console.clusters.collection.rows import update, write_seen
from console.clusters.collection.stuck import watch_stable_offsets
from console.clusters.collection.topics import collect_topics
from console.clusters.models import Cluster, CollectionRound, Noun, Partition, Topic
from console.frame.processes.work_sharing import longest_waiting
from jobs.cluster.check import NO_TOPIC
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import ClusterDescription, OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields, RegisteredTwice
from jobs.logs import own_fault

# The round for offsets: from where to where every partition reaches.

NO_LEADER = "no leader, so its offsets are unknown"


def collect_offsets(cluster: Cluster, door: ClusterDoor, now: datetime) -> Outcome:
    """Ask for the offsets of the partitions of the last topics round, write what changed."""
    stored = {TopicPartition(p.topic.name, p.partition): p for p in _partitions_of(cluster)}
    # A partition without a leader would hold the answer for all others until the time is up.
    asked = [where for where, row in stored.items() if row.leader is not None]
    ranges = door.read_offset_ranges(asked) if asked else {}
    seen = {where: _values(row, ranges.get(where)) for where, row in stored.items()}
    watch_stable_offsets(door, stored, seen, now)
    with transaction.atomic():
        written = write_seen(Partition, stored, seen, _never, now)
        _save_record_counts(stored, {where.topic for where in written}, now)
    errors = {str(where): values["error"] for where, values in seen.items() if values["error"]}
    return Outcome(len(seen), sentence_about("partitions without offsets", errors, len(seen)))


def _partitions_of(cluster: Cluster) -> Iterable[Partition]:
    return Partition.objects.filter(cluster=cluster).select_related("topic")


def _values(row: Partition, answer: OffsetRange | None) -> dict[str, Any]:
    """Return the offsets of a partition; the last known ones, and why, when there is no answer."""
    if answer is None or answer.error:
        why = answer.error if answer else None
        source: Partition | OffsetRange = row
        error = why or (NO_LEADER if row.leader is None else "no answer")
    else:
        source, error = answer, ""
    return {
        "log_start_offset": source.log_start_offset,
        "end_offset": source.end_offset,
        "high_watermark": source.high_watermark,
        "max_timestamp_ms": source.max_timestamp_ms,
        "error": error,
    }


def _save_record_counts(
    stored: Mapping[TopicPartition, Partition], names: set[str], now: datetime
) -> None:
    counts: dict[str, int | None] = {}
    topics: dict[str, Topic] = {}
    for where, row in stored.items():
        if where.topic not in names:
            continue
        topics[where.topic] = row.topic
        before = counts.get(where.topic, 0)
        known = None if before is None or row.record_count is None else before + row.record_count
        counts[where.topic] = known
    for name, topic in topics.items():
        topic.record_count, topic.changed_at = counts[name], now
    if topics:
        update(Topic, list(topics.values()), ["record_count", "changed_at"])


def _never(where: TopicPartition) -> Partition:
    raise KeyError(where)  # only stored partitions are queried


logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]

# Longer than any round can take (the door's questions and the task have time limits), so that a
# claim is only ever taken over from a worker that died.
CLAIM = timedelta(seconds=150)
# A slow cluster is queried less often: it never uses more than a third of a worker.
REST_PER_WORK = 2
PARTIAL = "partial"


def due_clusters(now: datetime) -> list[int]:
    """Return the ids of enabled clusters with a round that is due, the one that waits longest first."""
    waiting = CollectionRound.objects.filter(cluster=OuterRef("pk"), claimed_until__gte=now)
    # With all rounds claimed or resting there is nothing to do; a new cluster has no round at all.
    resting = Q()
    for noun in Noun.values:
        resting &= Q(Exists(waiting.filter(noun=noun)))
    enabled = Cluster.objects.filter(is_enabled=True).exclude(resting)
    since = enabled.annotate(waits_since=Min("rounds__claimed_until"))
    return longest_waiting(since, "waits_since")


def collect_cluster(
    cluster_id: int, clock: Clock = timezone.now, open_door: OpenDoor = open_kafka
) -> bool:
    """Run the due rounds of one cluster, one noun after the other over one connection.

    False when there was none: another worker has it, or it is gone or switched off.
    """
    cluster = Cluster.objects.filter(pk=cluster_id, is_enabled=True).first()
    if cluster is None:
        return False
    missing = [CollectionRound(cluster=cluster, noun=noun) for noun in Noun]
    CollectionRound.objects.bulk_create(missing, ignore_conflicts=True)
    nouns = [noun for noun in Noun if _claim(cluster, noun, clock())]
    if nouns:
        _Visit(cluster, nouns, clock).run(open_door)
    return bool(nouns)


@dataclass(slots=True)
class _Visit:
    """The claimed rounds of one cluster; the first question is always which cluster answers."""

    cluster: Cluster
    nouns: list[Noun]
    clock: Clock

    def run(self, open_door: OpenDoor) -> None:
        try:
            connection = self.cluster.connection()
        except InvalidFields as problem:
            self._fail_all(_fault_of_settings(self.cluster, problem), 0)
            return
        begun = time.monotonic()
        try:
            with open_door(connection) as door:
                described = self._identify(connection, door)
                for noun in self.nouns:
                    self._round(noun, partial(self._ask, noun, door, described))
        except ClusterFault as fault:
            self._fail_all(fault, _ms_since(begun))

    def _identify(self, connection: Connection, door: ClusterDoor) -> ClusterDescription:
        """Return the cluster that answers; raises when none does or when it is not the registered one."""
        try:
            described = door.describe_cluster()
        except ClusterFault as fault:
            _remember_seen_id(self.cluster, getattr(fault, "found", ""))
            raise
        if connection.cluster_id is None:
            # Saved without a check: the first answer says which cluster it is.
            _refuse_registered(self.cluster, described.cluster_id)
            Cluster.objects.filter(pk=self.cluster.pk, cluster_id="").update(
                cluster_id=described.cluster_id
            )
        _remember_seen_id(self.cluster, "")
        return described

    def _ask(self, noun: Noun, door: ClusterDoor, described: ClusterDescription) -> Outcome:
        now = self.clock()
        if noun is Noun.BROKERS:
            self._drop_findings(*save_versions(self.cluster, door, now))
            return save_brokers(self.cluster, described, now)
        outcome = _COLLECT[noun](self.cluster, door, now)
        if noun is Noun.TOPICS and outcome.row_count:
            self._drop_findings(NO_TOPIC)
        return outcome

    def _drop_findings(self, *texts: str) -> None:
        """Take away what the last check said and what a round has seen to be otherwise since."""
        findings = [one for one in self.cluster.findings if one not in texts]
        if findings != self.cluster.findings:
            checked = Cluster.objects.filter(pk=self.cluster.pk, checked_at=self.cluster.checked_at)
            checked.update(findings=findings)
            self.cluster.findings = findings

    def _round(self, noun: Noun, ask: Callable[[], Outcome]) -> None:
        begun = time.monotonic()
        try:
            outcome = ask()
        except ClusterFault as fault:
            _save_failure(self.cluster, noun, fault, self.clock(), _ms_since(begun))
        except Exception:
            # Whatever broke here must not cost the other nouns their round.
            logger.exception("round broke cluster=%s noun=%s", self.cluster.alias, noun)
            broken = _broken(self.cluster)
            _save_failure(self.cluster, noun, broken, self.clock(), _ms_since(begun))
        else:
            _save_success(self.cluster, noun, outcome, self.clock(), _ms_since(begun))

    def _fail_all(self, fault: ClusterFault, duration_ms: int) -> None:
        for noun in self.nouns:
            _save_failure(self.cluster, noun, fault, self.clock(), duration_ms)


_COLLECT: dict[Noun, Callable[[Cluster, ClusterDoor, datetime], Outcome]] = {
    Noun.TOPICS: collect_topics,
    Noun.OFFSETS: collect_offsets,
    Noun.GROUPS: collect_groups,
}


def _claim(cluster: Cluster, noun: Noun, now: datetime) -> bool:
    """Take a due round; False when another worker has it or it is not due yet."""
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    free = CollectionRound.objects.filter(due, cluster=cluster, noun=noun)
    return bool(free.update(claimed_until=now + CLAIM, started_at=now))


def _save_success(
    cluster: Cluster, noun: Noun, outcome: Outcome, now: datetime, duration_ms: int
) -> None:
    _finish(
        cluster,
        noun,
        now,
        duration_ms,
        succeeded_at=now,
        failing_since=None,
        row_count=outcome.row_count,
        error_code=PARTIAL if outcome.missing else "",
        error=outcome.missing,
        hint="",
    )
    logger.debug(
        "round done cluster=%s noun=%s rows=%s ms=%s",
        cluster.alias,
        noun,
        outcome.row_count,
        duration_ms,
    )


def _save_failure(
    cluster: Cluster, noun: Noun, fault: ClusterFault, now: datetime, duration_ms: int
) -> None:
    row = CollectionRound.objects.filter(cluster=cluster, noun=noun)
    row.filter(failing_since=None).update(failing_since=now)
    _finish(
        cluster,
        noun,
        now,
        duration_ms,
        error_code=fault.code,
        error=fault.message,
        hint=fault.hint,
    )
    logger.warning("round failed cluster=%s noun=%s error=%s", cluster.alias, noun, fault.message)


def _finish(
    cluster: Cluster, noun: Noun, now: datetime, duration_ms: int, **values: object
) -> None:
    rest_s = max(settings.COLLECT_INTERVAL_S, REST_PER_WORK * duration_ms / 1000)
    # Half a second less, so that the clock's next tick finds it due instead of the one after.
    next_at = now + timedelta(seconds=rest_s - 0.5) - timedelta(milliseconds=duration_ms)
    CollectionRound.objects.filter(cluster=cluster, noun=noun).update(
        finished_at=now,
        duration_ms=duration_ms,
        claimed_until=max(next_at, now),
        **values,
    )


def _remember_seen_id(cluster: Cluster, found: str) -> None:
    if cluster.seen_cluster_id != found:
        Cluster.objects.filter(pk=cluster.pk).update(seen_cluster_id=found)


def _refuse_registered(cluster: Cluster, cluster_id: str) -> None:
    """Raise when this is a cluster of another alias, which who sees this one may not see."""
    if Cluster.objects.filter(cluster_id=cluster_id).exclude(pk=cluster.pk).exists():
        text = f"{cluster.bootstrap_servers} is cluster {cluster_id}, which is registered already."
        raise RegisteredTwice(f"{text} Nothing was read from it.", cluster=cluster.alias)


def _fault_of_settings(cluster: Cluster, problem: InvalidFields) -> ClusterFault:
    hint = "Correct the cluster's settings."
    return ClusterFault(f"The settings are not usable: {problem}", cluster=cluster.alias, hint=hint)


def _broken(cluster: Cluster) -> ClusterFault:
    text = own_fault("collecting")
    return ClusterFault(text, cluster=cluster.alias, hint="")


def _ms_since(begun: float) -> int:
    return int((time.monotonic() - begun) * 1000)
