"""Rounds that write the offsets of the source's groups as checkpoints on the target.

Source: MirrorCheckpointTask of org.apache.kafka.connect.mirror. Checkpoints of groups that are gone stay,
and are never removed by tombstones, on which MirrorMaker 2's own readers fail.

Which topic a checkpoint is about is known from the id beside it. One without an id (an earlier
version's, MirrorMaker 2's) is checked in the first round, and written again with an id.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.replication.checkpoints.clusters import FlowClusters
from jobs.replication.checkpoints.group_sync import MOST_TOLD, GroupSync, GroupSyncReport
from jobs.replication.checkpoints.obstacles import BEYOND_END
from jobs.replication.checkpoints.rules import CheckpointOffsets, Decision, Why, decide
from jobs.replication.checkpoints.topic import CheckpointTopic, GroupPartition, KeptCheckpoint
from jobs.replication.flow.selection import group_filter_of, policy_of, topic_filter_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.mirror_client import rename_topic
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.replication.translation.sync_history import Certificate, repeats_nothing
from jobs.replication.translation.translator import SourceEnd
from jobs.wire.fields import LONGEST_STRING
from jobs.wire.mirror_records import Checkpoint

logger = logging.getLogger(__name__)

TOO_LONG = (
    "The metadata of its committed offset is longer than a checkpoint may hold (32767 bytes)."
)
NO_SYNCS = "No offset syncs of this flow are stored, so no offset can be translated."


@dataclass(slots=True)
class CheckpointReport:
    """What came of the rounds so far; counts ending in `_total` are of all rounds, the others of the last
    one.

    `told` are the checkpoints that stand now, `exact` those of them that are proved to repeat nothing either;
    `without` counts partitions of groups that have none, by reason. `stale_groups` have checkpoints and are
    not on the source any more. `at_ms` is when groups were last asked, None: never. `fault` is why the last
    round failed ("": it did not), `errors` what went wrong with single groups.
    """

    at_ms: int | None = None
    groups: int = 0
    told: int = 0
    exact: int = 0
    written: int = 0
    written_total: int = 0
    corrected: int = 0
    without: dict[str, int] = field(default_factory=dict)
    stale_groups: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    fault: str = ""
    synced_at_ms: int | None = None
    sync: GroupSyncReport = field(default_factory=GroupSyncReport)
    synced_total: int = 0

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values; at most 20 errors and findings of each kind."""
        sync = None
        if self.synced_at_ms is not None:
            sync = {
                "at_ms": self.synced_at_ms,
                "groups": self.sync.groups,
                "active": self.sync.active,
                "written": self.sync.written,
                "written_total": self.synced_total,
                "moved_back": self.sync.moved_back,
                "errors": _few(self.sync.errors),
                "ahead": list(_few(self.sync.ahead).values()),
                "ahead_groups": list(_few(self.sync.ahead)),
            }
        return {
            "at_ms": self.at_ms,
            "groups": self.groups,
            "told": self.told,
            "exact": self.exact,
            "written": self.written,
            "written_total": self.written_total,
            "corrected": self.corrected,
            "without": self.without,
            "stale_groups": self.stale_groups,
            "errors": _few(self.errors),
            "findings": list(self.findings[:MOST_TOLD]),
            "fault": self.fault,
            "group_sync": sync,
        }


class CheckpointRounds:
    """Writes the checkpoints of one flow; what was written before is read from the target."""

    def __init__(self, flow: FlowSpec, clusters: FlowClusters) -> None:
        self.report = CheckpointReport()
        self._flow = flow
        self._clusters = clusters
        self._groups = group_filter_of(flow)
        self._accepts_topic = lru_cache(maxsize=10_000)(topic_filter_of(flow).accepts)
        self._remote_topic = lru_cache(maxsize=10_000)(self._rename)
        self._sync = GroupSync(clusters.groups)
        self._topics = RemoteTopicIds(clusters)
        self._is_first = True

    def run(self, now_ms: int, *, sync_groups: bool) -> CheckpointReport:
        """Do one round; raises `ClusterFault`. `now_ms` is the timestamp of what is written."""
        syncs = self._clusters.syncs()
        if syncs is None:
            self.report.fault = NO_SYNCS
            return self.report
        self._topics.look(syncs, self._remote)
        ends = self._ends(syncs)
        offsets, unread = self._clusters.source_groups(self._groups.accepts)
        errors = dict(unread)
        syncs = self._clusters.syncs() or syncs
        before = self._clusters.checkpoints()
        told_before = _told(before)
        asked = {
            GroupPartition(group, where): committed
            for group, partitions in offsets.items()
            for where, committed in partitions.items()
            if committed.offset is not None and self._accepts_topic(where.topic)
        }
        self._topics.note_read(before.read_to)
        doubtful = self._doubtful(asked, ends)
        decided = self._decide(asked, syncs, ends, before, doubtful)
        errors |= {key.group: TOO_LONG for key in asked if not _fits(asked[key])}
        again = self._without_id(decided, syncs, before) if self._is_first else frozenset()
        self._write(asked, decided, again, now_ms)
        self._is_first = False
        self._note(decided, errors, now_ms)
        self.report.groups = len(offsets)
        gone = before.groups - offsets.keys() - unread.keys()
        self.report.stale_groups = sum(map(self._groups.accepts, gone))
        self.report.findings = (*_beyond(asked, decided, doubtful), *before.findings())
        if sync_groups:
            self._sync_groups(asked, decided, told_before, now_ms)
        return self.report

    def _ends(self, syncs: BoundedTranslator) -> dict[TopicPartition, SourceEnd]:
        """Return where both sides end, the target's end asked for first; see `SourceEnd`."""
        there = self._clusters.ranges(
            [self._remote(where) for where in syncs.partitions], on_source=False
        )
        here = self._clusters.ranges(list(syncs.partitions), on_source=True)
        ends = {}
        for where, offsets in here.items():
            target = there.get(self._remote(where), OffsetRange())
            if offsets.end_offset is not None and target.high_watermark is not None:
                ends[where] = SourceEnd(
                    offsets.end_offset,
                    target.high_watermark,
                    source_start=offsets.log_start_offset,
                    target_start=target.log_start_offset,
                    source_high=offsets.high_watermark,
                )
        return ends

    def _doubtful(
        self,
        asked: Mapping[GroupPartition, CommittedOffset],
        ends: Mapping[TopicPartition, SourceEnd],
    ) -> Mapping[TopicPartition, OffsetRange]:
        """Ask again, now after the commits, for the offsets of partitions whose end may be below a commit."""
        places = {
            key.where
            for key, committed in asked.items()
            if (end := ends.get(key.where)) is None or (committed.offset or 0) > end.source_most
        }
        return self._clusters.ranges(sorted(places), on_source=True) if places else {}

    def _decide(
        self,
        asked: Mapping[GroupPartition, CommittedOffset],
        syncs: BoundedTranslator,
        ends: Mapping[TopicPartition, SourceEnd],
        before: CheckpointTopic,
        doubtful: Mapping[TopicPartition, OffsetRange],
    ) -> dict[GroupPartition, tuple[Decision, bool]]:
        """Return what is to be written for each group and source partition, and whether it is exact."""
        remotes = {self._remote(key.where) for key in asked if key.where in syncs.partitions}
        targets = self._clusters.ranges(
            sorted(where for where in remotes if where.topic in self._topics.ids), on_source=False
        )
        found = {}
        for key, committed in asked.items():
            upstream, remote = committed.offset or 0, self._remote(key.where)
            certificate = syncs.translate(key.where, upstream, end=ends.get(key.where))
            kept = self._topics.of_now(before.checkpoints.get(GroupPartition(key.group, remote)))
            decision = decide(
                upstream,
                certificate,
                targets.get(remote),
                _told_by(kept),
                doubtful.get(key.where),
            )
            found[key] = (decision, _is_exact(decision, certificate, upstream))
        return found

    def _without_id(
        self,
        decided: Mapping[GroupPartition, tuple[Decision, bool]],
        syncs: BoundedTranslator,
        before: CheckpointTopic,
    ) -> frozenset[GroupPartition]:
        """Return where checkpoints without an id stand, and count those that are wrong."""
        found, wrong = set(), 0
        for key, (decision, _) in decided.items():
            kept = before.checkpoints.get(GroupPartition(key.group, self._remote(key.where)))
            if kept is None or kept.topic_id or decision.told is None:
                continue
            found.add(key)
            certificate = syncs.translate(key.where, kept.checkpoint.upstream_offset)
            is_low = certificate and kept.checkpoint.downstream_offset < certificate.lo
            wrong += bool(decision.is_written and (is_low or decision.why is Why.CORRECTED))
        if wrong:
            self.report.corrected = wrong
            logger.warning("wrong checkpoints corrected flow=%s count=%d", self._flow.name, wrong)
        return frozenset(found)

    def _write(
        self,
        asked: Mapping[GroupPartition, CommittedOffset],
        decided: Mapping[GroupPartition, tuple[Decision, bool]],
        again: Collection[GroupPartition],
        now_ms: int,
    ) -> None:
        due = [
            Checkpoint(key.group, *self._remote(key.where), *decision.told, asked[key].metadata)
            for key, (decision, _) in decided.items()
            if decision.told is not None
            and (decision.is_written or key in again)
            and _fits(asked[key])
        ]
        if due:
            self._clusters.write(due, now_ms, self._topics.ids)
        self.report.written = len(due)
        self.report.written_total += len(due)

    def _note(
        self,
        decided: Mapping[GroupPartition, tuple[Decision, bool]],
        errors: Mapping[str, str],
        now_ms: int,
    ) -> None:
        report = self.report
        report.at_ms, report.fault = now_ms, ""
        report.told = sum(decision.told is not None for decision, _ in decided.values())
        report.exact = sum(is_exact for _, is_exact in decided.values())
        missing = Counter(
            decision.why.value for decision, _ in decided.values() if not decision.told
        )
        report.without = dict(missing)
        report.errors = dict(errors)

    def _sync_groups(
        self,
        asked: Mapping[GroupPartition, CommittedOffset],
        decided: Mapping[GroupPartition, tuple[Decision, bool]],
        told_before: Mapping[GroupPartition, int],
        now_ms: int,
    ) -> None:
        wanted: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        for key, (decision, _) in decided.items():
            if decision.told is not None:
                offset = CommittedOffset(decision.told.downstream, asked[key].metadata)
                wanted.setdefault(key.group, {})[self._remote(key.where)] = offset
        self.report.sync = self._sync.sync(wanted, told_before)
        self.report.synced_at_ms = now_ms
        self.report.synced_total += self.report.sync.written

    def _remote(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self._remote_topic(where.topic), where.partition)

    def _rename(self, topic: str) -> str:
        aliases = (self._flow.source.alias, self._flow.target.alias)
        return rename_topic(
            policy_of(self._flow), topic, source_alias=aliases[0], target_alias=aliases[1]
        )


def _told_by(kept: KeptCheckpoint | None) -> CheckpointOffsets | None:
    if kept is None:
        return None
    return CheckpointOffsets(kept.checkpoint.upstream_offset, kept.checkpoint.downstream_offset)


def _is_exact(decision: Decision, certificate: Certificate | None, upstream: int) -> bool:
    if decision.told is None or certificate is None:
        return False
    is_its_own = decision.why is not Why.UNCHANGED or decision.told.downstream == certificate.lo
    return is_its_own and repeats_nothing(certificate, upstream)


def _beyond(
    asked: Mapping[GroupPartition, CommittedOffset],
    decided: Mapping[GroupPartition, tuple[Decision, bool]],
    ranges: Mapping[TopicPartition, OffsetRange],
) -> Iterator[str]:
    """Yield a sentence per group whose commit is beyond the end of its partition."""
    found: dict[str, list[TopicPartition]] = {}
    for key, (decision, _) in decided.items():
        if decision.why is Why.BEYOND_SOURCE:
            found.setdefault(key.group, []).append(key.where)
    for group, places in found.items():
        where = min(places)
        committed, end = asked[GroupPartition(group, where)].offset, ranges[where].high_watermark
        more = f" (and of {len(places) - 1} more)" if len(places) > 1 else ""
        yield (
            f"Group {group}: its committed offset {committed:,} of {where}{more} is beyond the end of the "
            f"partition ({end:,}): {BEYOND_END} It gets no checkpoint there."
        )


def _told(before: CheckpointTopic) -> dict[GroupPartition, int]:
    return {key: kept.checkpoint.downstream_offset for key, kept in before.checkpoints.items()}


def _fits(committed: CommittedOffset) -> bool:
    """Return whether the metadata fits a checkpoint, whose texts have at most 32767 bytes."""
    return len(committed.metadata.encode()) <= LONGEST_STRING


def _few(errors: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(errors.items())[:MOST_TOLD])


class RemoteTopicIds:
    """The ids of remote topics, round by round: what was written about a deleted topic counts no more.

    `ids` are those of the last look, by remote topic.
    """

    def __init__(self, clusters: FlowClusters) -> None:
        self.ids: Mapping[str, str] = {}
        self._clusters = clusters
        self._known: dict[str, str] = {}
        self._read_to = 0
        self._deleted_before: dict[str, int] = {}

    def look(
        self, syncs: BoundedTranslator, remote: Callable[[TopicPartition], TopicPartition]
    ) -> None:
        """Ask for the ids of the remote topics of all syncs; raises `ClusterFault`.

        Where an id is another one than at the last look, the syncs that were kept at that look are about
        a deleted topic, and are forgotten. The answer holds for syncs that are read after it.
        """
        self.ids = self._clusters.topic_ids({remote(where).topic for where in syncs.partitions})
        others = {
            topic for topic, now in self.ids.items() if self._known.setdefault(topic, now) != now
        }
        for where in [where for where in syncs.partitions if remote(where).topic in self.ids]:
            if remote(where).topic in others:
                syncs.drop_marked(where)
            syncs.mark(where)
        self._known |= self.ids
        self._deleted_before |= dict.fromkeys(others, self._read_to)

    def note_read(self, read_to: int) -> None:
        """Note up to where the topic of checkpoints is read."""
        self._read_to = read_to

    def of_now(self, kept: KeptCheckpoint | None) -> KeptCheckpoint | None:
        """Return a checkpoint if it is about the topic that has its name now.

        Without an id it is, unless it was there when the id changed.
        """
        if kept is None:
            return None
        topic = kept.checkpoint.topic
        if kept.topic_id:
            return kept if kept.topic_id == self.ids.get(topic) else None
        return kept if kept.offset >= self._deleted_before.get(topic, 0) else None
