"""Positions that the source does not know any more: moved leaders, deleted records, topics made again."""

from __future__ import annotations

import time

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST, ListedOffset, list_offsets
from jobs.cluster.protocol.errors import FaultKind, kind_of
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.flow.plan import CREATED_AGAIN

BUDGET_S = 10.0


class SourceChanged(Exception):
    """The source lost records that were fetched and not committed: begin again at what is committed."""

    def __init__(self, where: TopicPartition) -> None:
        super().__init__(f"the log of {where} was cut on the source")


class SourceResets:
    """Leaders that move, records that are gone, topics made again: looked into once per answer."""

    def __init__(self, source: Leaders) -> None:
        self._source = source
        self._lost: list[BatchPartition] = []
        self._changed: list[tuple[BatchPartition, ClusterFault]] = []
        self._look_again = False

    def add(self, part: BatchPartition, fault: ClusterFault) -> None:
        """Take an error of one partition: look again, use another broker, or set it aside."""
        match kind_of(fault):
            case FaultKind.RESET_POSITION:
                self._lost.append(part)
            case FaultKind.TOPIC_CHANGED:
                self._changed.append((part, fault))
            case FaultKind.REFRESH_METADATA | FaultKind.RETRY:
                part.retries += 1
                self._look_again = True
            case kind:
                denied = f"READ on topic {part.where.topic} of {fault.cluster}"
                is_denied = kind is FaultKind.DENIED
                part.set_aside(
                    f"{fault.message} {fault.hint}", time.monotonic(), denied if is_denied else ""
                )

    def diverge(self, part: BatchPartition, end_offset: int) -> None:
        """Go back to where the source's log is still the one that was copied.

        Raises `SourceChanged` when some of it is on its way to the target.
        """
        if part.is_dirty:
            raise SourceChanged(part.where)
        part.diverged(end_offset)

    async def resolve(self) -> None:
        """Look into what was met; raises `ClusterFault` for what is not retriable."""
        if self._look_again or self._changed:
            self._look_again = False
            await self._source.request_refresh()
        for part, fault in self._changed:
            self._find_topic(part, fault)
        self._changed.clear()
        if self._lost:
            lost, self._lost = self._lost, []
            await self._find_positions(lost)

    def _find_topic(self, part: BatchPartition, fault: ClusterFault) -> None:
        """Fail where another topic has the name now; wait where the topic is gone, or too new."""
        now = self._source.topic_id(part.where.topic)
        if not check_topic_id(part, now):
            part.set_aside(f"{fault.message} {fault.hint}", time.monotonic())

    async def _find_positions(self, parts: list[BatchPartition]) -> None:
        starts = await self._offsets_of(parts, EARLIEST)
        ends = await self._offsets_of(parts, LATEST)
        for part in parts:
            start, end = starts.get(part.where), ends.get(part.where)
            if start is None or end is None or start <= part.fetched <= end:
                part.set_aside(f"{part.where} has no offset {part.fetched} now.", time.monotonic())
            else:
                _find_position(part, start, end)

    async def _offsets_of(self, parts: list[BatchPartition], at: int) -> dict[TopicPartition, int]:
        found = await list_offsets(
            self._source.cluster,
            {part.where: at for part in parts},
            read_committed=False,
            budget_s=BUDGET_S,
        )
        return {
            where: one.offset
            for where, one in found.items()
            if isinstance(one, ListedOffset) and one.offset is not None
        }


def check_topic_id(part: BatchPartition, now: object) -> bool:
    """Fail a partition whose topic has another id than the one that was copied; returns whether it has."""
    if now is None or part.topic_id is None or now == part.topic_id:
        return False
    part.fail(
        f"Topic {part.where.topic} was deleted and {CREATED_AGAIN} (id {part.topic_id} -> {now}). "
        f"Position {part.committed} belongs to the old topic, so nothing more is copied. Accept the new "
        "topic to copy it from its beginning."
    )
    return True


def _find_position(part: BatchPartition, start: int, end: int) -> None:
    """Resume at the log start when retention was faster; stop when the log became shorter."""
    if part.fetched < start:
        part.skip_to(start)
    else:
        part.fail(
            f"{part.where} ends at offset {end} but was copied up to {part.fetched}: its log was "
            f"truncated or the topic was {CREATED_AGAIN}. Accept the new topic to copy it from its "
            "beginning."
        )
