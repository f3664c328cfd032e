"""Which checkpoint a group gets, and where it resumes: rules without I/O.

A checkpoint is (upstream, downstream): the group's committed offset on the source, and an offset of the
target before which it has read everything. Source: MirrorCheckpointTask of
org.apache.kafka.connect.mirror, without what it does wrong: an offset of a topic that was deleted and
re-created is never kept, and a proof wins over what was said before.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from jobs.cluster.descriptions import OffsetRange
from jobs.replication.translation.sync_history import Certificate


class Why(StrEnum):
    """Why a checkpoint is written, or none."""

    FIRST = "first"
    REWOUND = "rewound"
    ADVANCED = "advanced"
    CORRECTED = "corrected"
    UNCHANGED = "unchanged"
    NO_SYNC = "no_sync"
    TARGET_UNKNOWN = "target_unknown"
    BEYOND_TARGET = "beyond_target"
    BEYOND_SOURCE = "beyond_source"
    SOURCE_UNKNOWN = "source_unknown"


WRITTEN = frozenset({Why.FIRST, Why.REWOUND, Why.ADVANCED, Why.CORRECTED})


class CheckpointOffsets(NamedTuple):
    """What a checkpoint says: an offset of the source, and one of the target."""

    upstream: int
    downstream: int


class Decision(NamedTuple):
    """`told` is what is true now (None: nothing is known), `why` says whether it is to be written."""

    told: CheckpointOffsets | None
    why: Why

    @property
    def is_written(self) -> bool:
        return self.why in WRITTEN


def decide(
    upstream: int,
    certificate: Certificate | None,
    target: OffsetRange | None,
    previous: CheckpointOffsets | None,
    source: OffsetRange | None = None,
) -> Decision:
    """Return the checkpoint for a group's committed offset on the source.

    `source` are the offsets of the source partition, read after the commit, where the commit may be beyond
    its end; None: it is not. `target` are the offsets of the remote partition. As MirrorMaker 2: written the
    first time, when the group went back on the source, and when it resumes further on the target than was
    said. Also when what was said is not there any more, or is proved to be too far.
    """
    end = upstream if source is None else source.high_watermark
    if end is not None and upstream > end:
        return Decision(None, Why.BEYOND_SOURCE)
    if certificate is None or end is None:
        return Decision(None, Why.NO_SYNC if certificate is None else Why.SOURCE_UNKNOWN)
    if target is None or target.log_start_offset is None or target.high_watermark is None:
        return Decision(None, Why.TARGET_UNKNOWN)
    # An offset before the log's start would send the group wherever auto.offset.reset says, maybe to the end.
    downstream = max(certificate.lo, target.log_start_offset)
    if downstream > target.high_watermark:
        return Decision(None, Why.BEYOND_TARGET)
    if previous is None:
        return Decision(CheckpointOffsets(upstream, downstream), Why.FIRST)
    why = _why(CheckpointOffsets(upstream, downstream), certificate, target, previous)
    return Decision(
        previous if why is Why.UNCHANGED else CheckpointOffsets(upstream, downstream), why
    )


def _why(
    told: CheckpointOffsets,
    certificate: Certificate,
    target: OffsetRange,
    previous: CheckpointOffsets,
) -> Why:
    if told.upstream < previous.upstream:
        return Why.REWOUND
    if _is_refuted(previous, certificate, target):
        return Why.CORRECTED
    return Why.ADVANCED if told.downstream > previous.downstream else Why.UNCHANGED


def _is_refuted(previous: CheckpointOffsets, certificate: Certificate, target: OffsetRange) -> bool:
    """Return whether what was said before lies behind what is proved, or is not in the log any more."""
    start, end = target.log_start_offset or 0, target.high_watermark or 0
    if not start <= previous.downstream <= end:
        return True
    return certificate.hi is not None and previous.downstream > max(certificate.hi, start)
