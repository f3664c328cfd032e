"""The registrations of brokers, followed in the metadata log: epoch, fenced or not, rack, endpoints.

Nothing else tells a broker's epoch. Source: RegisterBrokerRecord (0), UnregisterBrokerRecord (1),
FenceBrokerRecord (7), UnfenceBrokerRecord (8), BrokerRegistrationChangeRecord (17); KIP-631. All other
records are skipped unread.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.protocol.data.metadata_log import (
    LogAnswer,
    LogPosition,
    SnapshotId,
    fetch_log,
    fetch_snapshot,
)
from jobs.wire.batches.log_batches import LARGEST_BATCH_BYTES
from jobs.wire.batches.record_batch import BatchHeader, iterate_batches
from jobs.wire.batches.records import records_body, split_records, split_rest
from jobs.wire.metadata.records import MetadataRecord, decode_metadata_record

_REGISTER, _UNREGISTER, _FENCE, _UNFENCE, _CHANGE = 0, 1, 7, 8, 17
_WANTED = frozenset({_REGISTER, _UNREGISTER, _FENCE, _UNFENCE, _CHANGE})
# Measured: a batch is committed 33 ms after it was appended.
_COMMIT_S = 0.03
_FRAME = 1


class Endpoint(NamedTuple):
    """Where a broker listens; `name` is that of the listener."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker as the metadata log has it.

    `broker_epoch` is the offset of its registration. `fencings` counts how often it was fenced since this
    log is followed, in this epoch. `in_controlled_shutdown`: it is about to stop.
    """

    broker_id: int
    broker_epoch: int
    incarnation_id: str
    rack: str | None
    endpoints: tuple[Endpoint, ...]
    is_fenced: bool
    in_controlled_shutdown: bool = False
    fencings: int = 0


class RegistrationLog:
    """Reads the log from the newest snapshot on, and then whatever is new."""

    def __init__(self, controllers: Controllers) -> None:
        self._controllers = controllers
        self._position = LogPosition(0)
        self.brokers: dict[int, BrokerRegistration] = {}
        self.is_at_end = False

    async def step(self, *, wait_ms: int = 500) -> bool:
        """Ask once, waiting at most so long for news; returns whether a registration changed.

        Raises `ClusterFault`: `Denied` without CLUSTER_ACTION, `NotAController`, and retriable ones.
        """
        before = dict(self.brokers)
        answer = await self._ask(wait_ms)
        if answer.diverging is not None:
            self._start_over()
        elif answer.snapshot is not None:
            await self._take(answer.snapshot)
        else:
            await self._keep(answer)
        return before != self.brokers

    async def catch_up(self) -> None:
        """Read on until everything that is committed now was read; raises `ClusterFault`."""
        self.is_at_end = False
        while not self.is_at_end:
            await self.step(wait_ms=100)

    async def _ask(self, wait_ms: int) -> LogAnswer:
        controllers = self._controllers
        return await controllers.ask(
            lambda connection: fetch_log(
                connection,
                self._position,
                controllers.leader_epoch,
                cluster_id=controllers.connection.cluster_id or None,
                max_wait_ms=wait_ms,
            )
        )

    async def _keep(self, answer: LogAnswer) -> None:
        end = answer.high_watermark or 0
        has_read = self._read(answer.records, end)
        self.is_at_end = answer.high_watermark is not None and self._position.offset >= end
        if not has_read and answer.records:
            await asyncio.sleep(_COMMIT_S)

    def _read(self, content: bytes | memoryview, end: int) -> int:
        """Fold whole batches below `end`; returns the bytes that were used up."""
        used = 0
        for header, batch in iterate_batches(content):
            if header.next_offset > end:
                break
            used += len(batch)
            if header.last_offset >= self._position.offset:
                self._fold(header, batch)
                self._position = LogPosition(header.next_offset, header.partition_leader_epoch)
        return used

    async def _take(self, snapshot: SnapshotId) -> None:
        """Read a snapshot piece by piece; it replaces what was known."""
        self._start_over()
        position, size, rest = 0, 1, b""
        controllers = self._controllers
        while position < size:
            at = position
            piece = await controllers.ask(
                lambda connection, at=at: fetch_snapshot(  # type: ignore[misc]
                    connection,
                    snapshot,
                    controllers.leader_epoch,
                    at,
                    cluster_id=controllers.connection.cluster_id or None,
                )
            )
            if not piece.content:
                break
            rest += piece.content
            for header, batch in iterate_batches(rest):
                self._fold(header, batch)
                at += len(batch)
            rest = rest[at - position :]
            position, size = position + len(piece.content), piece.size
        self._position = LogPosition(snapshot.end_offset, snapshot.epoch)

    def _start_over(self) -> None:
        self.brokers.clear()
        self._position = LogPosition(0)
        self.is_at_end = False

    def _fold(self, header: BatchHeader, batch: memoryview) -> None:
        if header.is_control:
            return
        body = records_body(header, batch, LARGEST_BATCH_BYTES)
        for raw in split_records(body, header.record_count):
            _, value, _ = split_rest(raw.rest)
            if value and value[0] == _FRAME and len(value) > 1 and value[1] in _WANTED:
                self._apply(decode_metadata_record(value))

    def _apply(self, record: MetadataRecord) -> None:
        data = record.data
        if record.api_key == _REGISTER and "brokerEpoch" in data:
            self.brokers[data["brokerId"]] = _registration(data)
        elif record.api_key == _UNREGISTER:
            self.brokers.pop(data.get("brokerId", -1), None)
        elif record.api_key in (_FENCE, _UNFENCE):
            self._turn(data.get("id", -1), is_fenced=record.api_key == _FENCE)
        elif record.api_key == _CHANGE:
            self._change(data)

    def _change(self, data: dict[str, Any]) -> None:
        number = data.get("brokerId", -1)
        if data.get("inControlledShutdown", 0) == 1 and number in self.brokers:
            self.brokers[number] = replace(self.brokers[number], in_controlled_shutdown=True)
        if data.get("fenced", 0):
            self._turn(number, is_fenced=data["fenced"] > 0)

    def _turn(self, number: int, *, is_fenced: bool) -> None:
        known = self.brokers.get(number)
        if known is None:
            return
        fencings = known.fencings + (1 if is_fenced and not known.is_fenced else 0)
        self.brokers[number] = replace(known, is_fenced=is_fenced, fencings=fencings)


def _registration(data: dict[str, Any]) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=data["brokerId"],
        broker_epoch=data["brokerEpoch"],
        incarnation_id=str(data.get("incarnationId", "")),
        rack=data.get("rack"),
        endpoints=tuple(
            Endpoint(one["name"], one["host"], one["port"]) for one in data.get("endPoints", ())
        ),
        is_fenced=bool(data.get("fenced", True)),
        in_controlled_shutdown=bool(data.get("inControlledShutdown", False)),
    )
