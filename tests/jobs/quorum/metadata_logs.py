"""A metadata log of our own making, and a controller that serves it as Kafka 4.3.1 was seen to."""

from __future__ import annotations

import crc32c

from tests.jobs.cluster.protocol.batches import CONTROL, HEADER, header
from tests.jobs.cluster.protocol.fake_broker import FETCH, FakeBroker
from tests.jobs.cluster.protocol.fake_controller import (
    CONTROLLER,
    FETCH_SNAPSHOT,
    log_answer,
    no_snapshot,
    piece,
)


def batch(base: int, epoch: int = 1, count: int = 1, *, control: bool = False, body=b"") -> bytes:
    """Return a batch with a right CRC; its records are any bytes, because they are not decoded here."""
    body = body or b"record " * count
    changes = {
        "base_offset": base,
        "leader_epoch": epoch,
        "last_offset_delta": count - 1,
        "records": count,
        "attributes": CONTROL if control else 0,
        "max_timestamp": 1_000 + base,
    }
    crc = crc32c.crc32c(body, crc32c.crc32c(header(body, **changes)[21:]))
    return header(body, **changes, crc=crc) + body


def damaged(content: bytes) -> bytes:
    """Return a batch in which one bit is another."""
    return content[:-1] + bytes([content[-1] ^ 1])


def snapshot(epoch: int = 1, *, middle: int = 2) -> bytes:
    """Return a whole snapshot: header, some batches, footer."""
    parts = [batch(0, epoch, control=True)]
    parts += [batch(1 + n, epoch) for n in range(middle)]
    return b"".join([*parts, batch(1 + middle, epoch, control=True)])


class Leader:
    """Lets a fake broker lead a quorum with a log: batches as (base offset, epoch, count).

    Everything is committed unless `high_watermark` says less; `snapshots` are bytes by (end offset, epoch).
    """

    def __init__(self, broker: FakeBroker, *batches: tuple[int, int, int], epoch: int = 1) -> None:
        self.broker = broker
        self.epoch = epoch
        self.batches = {base: batch(base, e, count) for base, e, count in batches}
        self.high_watermark: int | None = None
        self.log_start = 0
        self.snapshots: dict[tuple[int, int], bytes] = {}
        self.piece_bytes = 1 << 20
        broker.offered = dict(CONTROLLER)
        broker.answers[FETCH] = self.answer
        broker.answers[FETCH_SNAPSHOT] = self.answer_snapshot

    @property
    def end(self) -> int:
        return max((self._fields(one)[0] for one in self.batches.values()), default=0)

    def content(self, start: int = 0) -> bytes:
        """Return all batches that reach beyond an offset."""
        return b"".join(
            content
            for _, content in sorted(self.batches.items())
            if self._fields(content)[0] > start
        )

    def write(self, *batches: tuple[int, int, int]) -> None:
        """Append batches."""
        self.batches |= {base: batch(base, e, count) for base, e, count in batches}

    def forget_below(self, start: int, epoch: int = 1) -> None:
        """Delete the log below an offset; a snapshot there says what it was."""
        self.log_start = start
        self.snapshots[start, epoch] = snapshot(epoch)

    def answer(self, asked):
        (wanted,) = asked.message.topics[0].partitions
        offset, known = wanted.fetch_offset, wanted.current_leader_epoch
        leader = (self.broker.broker_id, self.epoch)
        committed = self.end if self.high_watermark is None else self.high_watermark
        told = {"leader": leader, "high_watermark": committed, "start": self.log_start}
        if known != self.epoch:
            error = "fenced_leader_epoch" if known < self.epoch else "unknown_leader_epoch"
            return log_answer(error=error, at=("127.0.0.1", self.broker.port), **told)
        last = wanted.last_fetched_epoch
        if self.snapshots and (offset == 0 or self._is_before_the_log(offset, last)):
            return log_answer(snapshot_id=max(self.snapshots), **told)
        epoch, end = self.end_of_epoch(last)
        if epoch != last or offset > end:
            return log_answer(diverging=(epoch, end), **told)
        return log_answer(self.content(offset), **told)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the highest epoch up to this one that the log has, and where it ends."""
        known = [self._fields(one) for _, one in sorted(self.batches.items())]
        if self.snapshots:
            known.insert(0, min(self.snapshots))
        if epoch == self.epoch:
            return epoch, self.end
        ends = [(e, end) for end, e in known if e <= epoch]
        return ends[-1] if ends else (0, 0)

    def _is_before_the_log(self, offset: int, epoch: int) -> bool:
        """Say what KafkaMetadataLog.validateOffsetAndEpoch says."""
        earliest, its_epoch = min(self.snapshots)
        at_start = offset == self.log_start == earliest and epoch != its_epoch
        return offset < self.log_start or at_start or (self.log_start > 0 and epoch < its_epoch)

    def answer_snapshot(self, asked):
        (wanted,) = asked.message.topics[0].partitions
        key = (wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch)
        if key not in self.snapshots:
            return no_snapshot()
        return piece(key, self.snapshots[key], wanted.position, self.piece_bytes)

    @staticmethod
    def _fields(content: bytes) -> tuple[int, int]:
        """Return the end offset and the epoch of a batch."""
        fields = HEADER.unpack_from(content)
        return fields[0] + fields[6] + 1, fields[2]


def archived(folder) -> bytes:
    """Return the bytes of all segments of an archive, in order."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
