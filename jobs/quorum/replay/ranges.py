"""A log cut into ranges of bytes, each read once, and what they deal out to the shares of its partitions."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Container, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from jobs.files import for_this_user_only
from jobs.quorum.image.image import LARGEST_BATCH_RECORDS
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SegmentFile
from jobs.quorum.log.ranges import Dealt, LogRange, Part
from jobs.quorum.replay.dealing import Dealer, read_pieces
from jobs.quorum.replay.folder import file_columns, mapped
from jobs.quorum.replay.framing import Framing
from jobs.quorum.replay.runs import RunReader, Runs
from jobs.wire.metadata.columns import cuts


def ranges_of(folder: LogFolder, size_bytes: int, uncut: Container[int] = ()) -> Iterator[LogRange]:
    """Yield a log in ranges of at least so many bytes; what an atomic group of batches holds is in one.

    Reads the headers of all batches, but for the segments in `uncut`; raises OSError.
    """
    parts: list[Part] = []
    highest, is_whole = -1, False
    for number, segment in enumerate(folder.segments):
        content = mapped(segment.path, segment.size_bytes)
        if content is None:
            continue
        log = np.frombuffer(content, np.uint8)
        begin, offset, epoch = 0, segment.base_offset, None
        is_whole = is_whole or offset < highest
        for cut in () if number in uncut else cuts(log, offset, size_bytes):
            parts.append(Part(number, begin, cut.at, offset, epoch))
            begin, offset, epoch = cut.at, cut.offset, cut.epoch
            found = LogRange(tuple(parts), is_whole)
            if cut.records < LARGEST_BATCH_RECORDS and found.size_bytes >= size_bytes:
                yield found
                parts, is_whole = [], offset < highest
            content.madvise(mmap.MADV_DONTNEED)
        highest = max(highest, offset)
        if begin < len(log):
            parts.append(Part(number, begin, len(log), offset, epoch))
    if parts:
        yield LogRange(tuple(parts), is_whole)


def deal_range(folder: LogFolder, one: LogRange, number: int, output: Path, shares: int) -> Dealt:
    """Read a range, and write what each share needs and all runs.

    Where a segment is damaged before its last cut, that cut may be none: then the segment is `broken`.
    """
    framing, reader = Framing(), RunReader()
    broken: set[int] = set()
    with (
        Dealer(output, number, shares) as dealer,
        open(_runs_path(output, number), "wb", opener=for_this_user_only) as file,
    ):
        for part in one.parts:
            path, base_offset, size_bytes = folder.segments[part.segment]
            byte_range = (part.begin, part.end)
            for columns in file_columns(
                path, part.offset, size_bytes, byte_range, part.epoch_before
            ):
                if columns.damage and part.end < size_bytes:
                    broken.add(part.segment)
                pickle.dump((base_offset, reader.read(columns)), file)
                dealer.deal(framing.frame(columns), is_whole=one.is_whole)
    return Dealt(dealer.last_reset, tuple(broken))


def dealt_runs(output: Path, ranges: int) -> Callable[[SegmentFile], Iterator[Runs]]:
    """Return what yields the runs of a segment, each once, as `sparse_items` wants them."""
    paths = (_runs_path(output, number) for number in range(ranges))
    pieces = chain.from_iterable(map(read_pieces, paths))
    reader = RunReader()
    held = [next(pieces, None)]

    def runs_of(segment: SegmentFile) -> Iterator[Runs]:
        while (piece := held[0]) is not None and piece[0] <= segment.base_offset:
            held[0] = next(pieces, None)
            base_offset, runs = piece
            if base_offset == segment.base_offset:
                yield runs._replace(lines=reader.join(runs.lines))

    return runs_of


def _runs_path(output: Path, number: int) -> Path:
    return output / f"range-{number}-runs"
