"""Logs as brokers keep and serve them: batches, transactions with their markers, answers to a Fetch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from jobs.wire.batches.record_batch import BatchHeader, Codec, ControlType
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records
from tests.jobs.wire.strategies import codecs, headers, timestamps

contents = st.one_of(st.none(), st.binary(max_size=30), st.just(b"x" * 400))


def data(first: int, count: int = 3, size: int = 20, **fields) -> bytes:
    """Return a batch of numbered records."""
    records = [
        PlacedRecord(first + n, 1000 + n, b"k%d" % n, b"%d" % (first + n) + b"v" * size)
        for n in range(count)
    ]
    return encode_batch(records, **fields)


def marker(offset: int, producer_id: int, kind: ControlType) -> bytes:
    """Return what ends a transaction."""
    key = b"\0\0" + int(kind).to_bytes(2, "big")
    return encode_batch(
        [PlacedRecord(offset, 5, key, b"\0" * 6)],
        is_control=True,
        is_transactional=True,
        producer_id=producer_id,
        producer_epoch=0,
    )


@dataclass
class Log:
    """A log, and which of its transactions were aborted: producer, first offset, offset of the marker."""

    batches: list[bytes] = field(default_factory=list)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return BatchHeader.decode(self.batches[-1]).next_offset if self.batches else 0

    def fetch(self, position: int, batches: int) -> tuple[memoryview, list[tuple[int, int]]]:
        """Return so many batches from a position on, and the aborted transactions that reach into them."""
        there = [b for b in self.batches if BatchHeader.decode(b).next_offset > position][:batches]
        last = BatchHeader.decode(there[-1]).last_offset if there else position
        aborted = [
            (producer, first)
            for producer, first, ended in self.aborted
            if first <= last and ended >= position
        ]
        return memoryview(b"".join(there)), aborted

    def records(self, position: int, *, committed: bool) -> list[PlacedRecord]:
        """Return what a reader sees, record by record."""
        found = []
        for batch in self.batches:
            header = BatchHeader.decode(batch)
            if header.is_control or (committed and self._is_aborted(header)):
                continue
            found += [record for record in placed_records(batch) if record.offset >= position]
        return found

    def _is_aborted(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            producer == header.producer_id and first <= header.base_offset < ended
            for producer, first, ended in self.aborted
        )


@st.composite
def logs(draw) -> Log:
    """Random logs: gaps, transactions of two producers, codecs, broker times, small and large batches.

    Every other log has batches that are alike.
    """
    log = Log()
    is_uniform = draw(st.booleans())
    open_since: dict[int, int] = {}
    offset = draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(1, 12))):
        producer = draw(st.sampled_from([-1, -1, 7, 8]))
        if producer in open_since and draw(st.booleans()):
            offset = _end(draw, log, open_since, producer, offset)
            continue
        if producer >= 0:
            open_since.setdefault(producer, offset)
        batch = encode_batch(
            draw(_records(offset)), **draw(_shape(producer, is_uniform=is_uniform))
        )
        log.batches.append(batch)
        offset = BatchHeader.decode(batch).next_offset + draw(st.sampled_from([0, 0, 3]))
    for producer in list(open_since):
        offset = _end(draw, log, open_since, producer, offset)
    return log


def _end(draw, log: Log, open_since: dict[int, int], producer: int, offset: int) -> int:
    kind = draw(st.sampled_from([ControlType.ABORT, ControlType.COMMIT]))
    first = open_since.pop(producer)
    if kind is ControlType.ABORT:
        log.aborted.append((producer, first, offset))
    log.batches.append(marker(offset, producer, kind))
    return offset + 1


@st.composite
def _records(draw, offset: int) -> list[PlacedRecord]:
    records = []
    for _ in range(draw(st.sampled_from([1, 2, 5, 30]))):
        record = PlacedRecord(
            offset, draw(timestamps), draw(contents), draw(contents), draw(headers)
        )
        records.append(record)
        offset += draw(st.sampled_from([1, 1, 1, 1, 4]))
    return records


@st.composite
def _shape(draw, producer: int, *, is_uniform: bool) -> dict:
    shape = {
        "codec": Codec.NONE if is_uniform else draw(codecs),
        "partition_leader_epoch": 4 if is_uniform else draw(st.sampled_from([4, 4, 5])),
        "producer_id": producer,
        "producer_epoch": 0 if producer >= 0 else -1,
        "base_sequence": 0 if producer >= 0 else -1,
        "is_transactional": producer >= 0,
    }
    if is_uniform:
        return shape
    if draw(st.integers(0, 4)) == 0:
        shape["log_append_time_ms"] = draw(st.integers(0, 2**41))
    if draw(st.integers(0, 4)) == 0:
        shape["delete_horizon_ms"] = draw(st.integers(0, 2**41))
    return shape


def plain(records: Sequence[PlacedRecord]) -> list[tuple]:
    """Return records for a comparison."""
    return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]
