"""Everything that is read to find silent failures, as plain values; `reading` reads it.

What was not asked, or not answered, is None: rules do not judge it, and open findings stay open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.checks.settings import Settings
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.findings.checks import OF
from jobs.replication.findings.codes import Code
from jobs.wire.topics.connect_records import ConnectStatus, StatusKey


@dataclass(frozen=True, slots=True)
class PartitionSnapshot:
    """A source partition of the flow and its remote partition.

    `position` is the next source offset to copy, `end_offset` the source's last stable offset, `data_end` the
    offset after its last real record (transaction markers are none). `remote_end` is where the remote
    partition ends, read after `last_sync` (upstream and downstream offset of the newest offset sync) and
    after `remote_end_then` (where it ended at the flow's last commit). `rests`: it is not expected to move.
    """

    where: TopicPartition
    position: int | None = None
    log_start_offset: int | None = None
    end_offset: int | None = None
    data_end: int | None = None
    remote_end: int | None = None
    remote_end_then: int | None = None
    last_sync: tuple[int, int] | None = None
    rests: bool = False


@dataclass(frozen=True, slots=True)
class TopicSnapshot:
    """A source topic of the flow; ids are "" when not known.

    `copied_topic_id` is the id of the topic whose records are on the target, where the flow wrote it down.
    """

    topic: str
    remote_topic: str
    topic_id: str = ""
    remote_topic_id: str = ""
    copied_topic_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """What a connector or task last said, and when."""

    status: ConnectStatus
    at: datetime


@dataclass(frozen=True, slots=True)
class HeartbeatsSnapshot:
    """The newest heartbeats: None where there are none.

    `emitted_at`: of this flow's own emitter, on the target. `at_source`: of any emitter on the source.
    `arrived_at`: of those that were copied from the source.
    """

    emitted_at: datetime | None = None
    at_source: datetime | None = None
    arrived_at: datetime | None = None
    arrives_in: str = ""


@dataclass(frozen=True, slots=True)
class OffsetSyncsSnapshot:
    """The topic of offset syncs: `error` is why it could not be read, `refused` how many records are none.

    `is_elsewhere`: a topic of that flow is on the other cluster instead.
    """

    topic: str
    cluster: str
    is_enabled: bool = True
    exists: bool = True
    is_elsewhere: bool = False
    error: str = ""
    partitions: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointsSnapshot:
    """The topic of checkpoints; `newest_at` None while it has none."""

    topic: str
    exists: bool = True
    newest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """The offsets of a group on one partition, on both sides.

    `committed` and `target_committed` are its committed offsets; `is_active_on_target`: it has members there.
    `is_failed_over`: a plan of the flow moved it there, and it has no members on the source.
    `checkpoint` are upstream and downstream offset of its newest checkpoint. `target_at_most` is the highest
    target offset at which it could resume without skipping anything, proved by offset syncs; None: unknown.
    `end` and `target_end` are high watermarks, read after the committed offset of their side; None: unknown.
    """

    group: str
    where: TopicPartition
    committed: int | None = None
    target_committed: int | None = None
    is_active_on_target: bool = False
    checkpoint: tuple[int, int] | None = None
    target_at_most: int | None = None
    is_failed_over: bool = False
    end: int | None = None
    target_end: int | None = None

    @property
    def is_beyond_end(self) -> bool:
        """Whether its committed offset is beyond the end of the source partition."""
        return None not in (self.committed, self.end) and (self.committed or 0) > (self.end or 0)

    @property
    def is_beyond_target_end(self) -> bool:
        """Whether its offset on the target is beyond the end of the remote partition."""
        known = None not in (self.target_committed, self.target_end)
        return known and (self.target_committed or 0) > (self.target_end or 0)


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """One flow at one moment.

    `is_watched`: MirrorMaker 2 copies it. `should_move`: somebody wants it to run now. `copied_back` are
    source
    topics that another flow or program copies back under the same name, with how that is known.
    `returned` are target topics whose names say that they came from the target itself, or twice from the
    source. `wrapped` counts records in JSON by topic. `position_records` are the records of the topic of
    positions, `positions_topic` its name.
    `set_apart_at`: since then it has an application of its own, because slots of its engine died.
    `settings` are the thresholds of checks, for the flow with the key `pk`.
    """

    flow: str
    source: str
    target: str
    at: datetime
    is_watched: bool = False
    should_move: bool = True
    set_apart_at: datetime | None = None
    source_cluster_id: str = ""
    target_cluster_id: str = ""
    heartbeats_wanted: bool = False
    topics: Sequence[TopicSnapshot] | None = None
    partitions: Sequence[PartitionSnapshot] | None = None
    statuses: Mapping[StatusKey, ConnectorStatus] | None = None
    heartbeats: HeartbeatsSnapshot | None = None
    syncs: OffsetSyncsSnapshot | None = None
    checkpoints: CheckpointsSnapshot | None = None
    groups: Sequence[GroupSnapshot] | None = None
    copied_back: Mapping[str, str] | None = None
    returned: Sequence[str] | None = None
    wrapped: Mapping[str, int] | None = field(default=None)
    positions_topic: str = ""
    position_records: int | None = None
    pk: int | None = None
    settings: Settings = field(default_factory=Settings)

    def limit(self, code: Code, threshold: str, topic: str = "") -> timedelta:
        """Return a threshold of a check; its default where the check is off."""
        check = OF[code]
        values = self.settings.values(check, flow=self.pk, topic=topic) or check.defaults
        return timedelta(seconds=values[threshold])
