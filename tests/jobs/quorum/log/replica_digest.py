"""The checksums of one replica's metadata log, for a comparison with others.

A digest holds a pair of numbers per batch and nothing of its records. The CRC covers the records but not the
epoch, which is beside it; both are equal on all replicas below the high watermark.
"""

from __future__ import annotations

from itertools import islice

from jobs.quorum.health.compare import LogDigest
from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SegmentFile
from jobs.wire.batches.log_batches import BatchAt, scan_batches

# About 100 MB of memory; a controller that is idle for six days writes as many.
MOST_BATCHES = 1_000_000


def digest_folder(
    folder: LogFolder, name: str, *, from_offset: int = 0, most: int = MOST_BATCHES
) -> LogDigest:
    """Return the checksums of the batches from an offset on, at most so many; damaged ones are left out.

    Compare digests that begin at the same `from_offset`. Raises OSError.
    """
    checksums: dict[int, tuple[int, int]] = {}
    for index, segment in enumerate(folder.segments):
        later = folder.segments[index + 1 : index + 2]
        if not later or later[0].base_offset > from_offset:
            _digest(segment, from_offset, most - len(checksums), checksums)
    return LogDigest(name, checksums)


def _digest(
    segment: SegmentFile, from_offset: int, most: int, into: dict[int, tuple[int, int]]
) -> None:
    with FileSource(segment.path) as source:
        found = (one for one in scan_batches(source) if isinstance(one, BatchAt))
        wanted = (one.header for one in found if one.header.base_offset >= from_offset)
        for header in islice(wanted, max(0, most)):
            into[header.base_offset] = (header.partition_leader_epoch, header.crc)
