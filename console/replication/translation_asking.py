"""What the translation of offsets asks of clusters that answer; without them it uses the archive alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

from django.utils import timezone

from console.clusters.models import CollectionRound
from console.replication.models import ReplicationFlow
from console.replication.translating import open_flow_translator
from console.replication.translation_limits import NO_LIMITS, Limits, read_limits
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.failover.read_syncs import read_translator
from jobs.replication.flow import FlowSpec, SyncsLocation
from jobs.replication.translator import NarrowestTranslator, Translator

TIMEOUT_S = 5.0
# A cluster that was not collected from for so long is not asked: nobody waits for its timeout.
ANSWERED_WITHIN = timedelta(seconds=60)
# Questions in a row are answered from one reading of the topic.
KEPT_S = 10.0


class TranslationDoor(Protocol):
    """Questions to the clusters of a flow; every one may raise `ClusterFault`."""

    def translator(self, flow: FlowSpec) -> Translator:
        """Return what the topic of offset syncs says, as a failover plan reads it."""
        ...

    def limits(self, connection: Connection, partitions: Collection[TopicPartition]) -> Limits:
        """Return which of these partitions there are, and where they end."""
        ...


class KafkaTranslationDoor:
    """The real clusters."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], tuple[float, Translator]] = {}
        self._lock = threading.Lock()

    def translator(self, flow: FlowSpec) -> Translator:
        """Read the topic, at most once in `KEPT_S`."""
        key = (flow.name, flow.source.alias, flow.target.alias)
        with self._lock:
            now_s = time.monotonic()
            self._kept = {one: kept for one, kept in self._kept.items() if now_s - kept[0] < KEPT_S}
            if key not in self._kept:
                found = read_translator(flow, timeout_s=TIMEOUT_S)
                self._kept[key] = (time.monotonic(), found)
            return self._kept[key][1]

    def limits(self, connection: Connection, partitions: Collection[TopicPartition]) -> Limits:
        """Describe topics and list offsets."""
        return read_limits(connection, partitions, timeout_s=TIMEOUT_S)


KAFKA: TranslationDoor = KafkaTranslationDoor()


def open_narrowest_translator(
    flow: ReplicationFlow, door: TranslationDoor = KAFKA
) -> NarrowestTranslator:
    """Return what the archive and, for a flow of crosslog, the topic of offset syncs say.

    Beside the syncs of crosslog stands whether one is missing, which the archive does not keep; the archive
    has syncs that compaction took from the topic. Raises `ActionRefused` when the archive is damaged.
    """
    found = [open_flow_translator(flow)]
    spec = flow.spec()
    place = flow.source_id if spec.offset_syncs is SyncsLocation.SOURCE else flow.target_id
    if not flow.is_watched and _answers(place):
        with suppress(ClusterFault):
            found.append(door.translator(spec))
    return NarrowestTranslator(*found)


def limits_of(
    flow: ReplicationFlow,
    partitions: Collection[TopicPartition],
    *,
    is_reverse: bool,
    door: TranslationDoor = KAFKA,
) -> Limits:
    """Return the limits of the side that offsets are asked from; none when it does not answer."""
    if not _answers(flow.target_id if is_reverse else flow.source_id):
        return NO_LIMITS
    spec = flow.spec()
    with suppress(ClusterFault):
        return door.limits(spec.target if is_reverse else spec.source, partitions)
    return NO_LIMITS


def _answers(cluster_id: int) -> bool:
    since = timezone.now() - ANSWERED_WITHIN
    return CollectionRound.objects.filter(cluster=cluster_id, succeeded_at__gt=since).exists()
