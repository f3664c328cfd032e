"""What the end of a session means: what may pass, what a person must fix, what one partition has to say."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized, TimedOut
from jobs.cluster.protocol.errors import BatchTooLarge, FaultKind, OutcomeUnknown, kind_of
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.produce import PartitionsRefused, Refusal
from jobs.replication.copy.batches.source_resets import SourceChanged
from jobs.wire.batches.record_batch import has_valid_crc

SMALLEST_LIMIT_BYTES = 1024
_SHOWN_RECORDS = 3
# It is not the partition that the fault is about: the whole session begins again, a little later.
_OF_THE_SESSION = (
    FaultKind.REFRESH_METADATA,
    FaultKind.NEW_TRANSACTION,
    FaultKind.FIND_COORDINATOR,
)
_BUSY = "CONCURRENT_TRANSACTIONS"


def apply_error(error: Exception, parts: Collection[BatchPartition]) -> str:
    """Decide what an error means, for partitions too; returns what a pause may help against, or "".

    Raises what only a person can fix: above all `ProducerFenced`, whatever else went wrong at the same
    time, because who is fenced must not begin again.
    """
    found = list(leaves(error))
    refusals = [one for leaf in found for one in _refusals(leaf).items()]
    faults = [leaf for leaf in found if isinstance(leaf, ClusterFault)]
    _raise_first([f for f in [*faults, *(r.fault for _, r in refusals)] if _is_fenced(f)])
    _raise_first([leaf for leaf in found if not isinstance(leaf, _KNOWN)])
    _raise_first([fault for fault in faults if not may_pass(fault)])
    by_place = {part.where: part for part in parts}
    problems = [
        apply_refusal(by_place[where], refusal) for where, refusal in refusals if where in by_place
    ]
    problems += [fault_text(fault) for fault in faults]
    return next((problem for problem in problems if problem), "")


def is_late(error: Exception) -> bool:
    """Return whether a request was not answered in time: the way may be too slow for requests so large."""
    return any(isinstance(leaf, TimedOut) for leaf in leaves(error))


def may_pass(fault: ClusterFault) -> bool:
    """Return whether beginning again may help."""
    return (
        fault.retriable
        or isinstance(fault, OutcomeUnknown)
        or kind_of(fault) is FaultKind.NEW_TRANSACTION
    )


def fault_text(fault: ClusterFault) -> str:
    return f"{fault} {fault.hint}"


def apply_refusal(part: BatchPartition, refusal: Refusal) -> str:
    """Decide what a refusal of the target means for a partition; the others continue.

    Returns what a pause of the whole session may help against, "" where the partition deals with it.
    """
    fault, outgoing = refusal.fault, refusal.batch
    kind = kind_of(fault)
    if kind in _OF_THE_SESSION or fault.error == _BUSY:
        return fault_text(fault)
    if isinstance(fault, BatchTooLarge) and outgoing.record_count > 1:
        part.batch_filter.limit_bytes = max(len(outgoing.batch) // 2, SMALLEST_LIMIT_BYTES)
    elif kind is FaultKind.BATCH_REFUSED:
        part.stop_at(_first_refused(refusal), refused_batch(part, refusal))
    else:
        reason = f"Target partition {part.remote} takes no records: {fault.message} {fault.hint}"
        denied = f"WRITE on topic {part.remote.topic} of {fault.cluster}"
        is_denied = isinstance(fault, NotAuthorized)
        part.set_aside(reason, time.monotonic(), denied if is_denied else "")
    return ""


def refused_batch(part: BatchPartition, refusal: Refusal) -> str:
    """Say which records the target refuses, and whether the source's own bytes are damaged."""
    outgoing, fault = refusal.batch, refusal.fault
    what = f"The batch with the offsets {outgoing.first_offset} to {outgoing.last_offset} of {part.where}"
    if not has_valid_crc(outgoing.batch):
        return (
            f"{what} is damaged on the source: its CRC is wrong. Everything before it is copied, nothing "
            "from there on. Compare the replicas of the partition with kafka-dump-log.sh: another one may "
            "be whole."
        )
    if isinstance(fault, BatchTooLarge):
        return (
            f"Record {part.where} offset {outgoing.first_offset} makes a batch of {len(outgoing.batch)} "
            f"bytes, which {part.remote.topic} does not take (max.message.bytes). Nothing from there on was "
            "copied. "
            f"{fault.hint} Then restart the flow."
        )
    said = "; ".join(
        f"record at offset {outgoing.offset_of(index)}: {message}"
        for index, message in refusal.records[:_SHOWN_RECORDS]
    )
    return (
        f"{what} is refused by the target: {fault.message} {said} Nothing from offset "
        f"{_first_refused(refusal)} on was copied. Change the settings of {part.remote.topic} so that it "
        "takes the records, then restart the flow."
    )


def _first_refused(refusal: Refusal) -> int:
    """Return the upstream offset of the first record that is refused, as far as the target names one."""
    outgoing = refusal.batch
    indexes = [
        one.batch_index for one in refusal.records if one.batch_index < outgoing.record_count
    ]
    if not indexes or not has_valid_crc(outgoing.batch):
        return outgoing.first_offset
    return outgoing.offset_of(max(min(indexes), 0))


_KNOWN = (ClusterFault, PartitionsRefused, SourceChanged)


def _refusals(error: Exception) -> Mapping[TopicPartition, Refusal]:
    return error.refusals if isinstance(error, PartitionsRefused) else {}


def leaves(error: Exception) -> Iterator[Exception]:
    """Yield the errors of a group, however deep."""
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def _is_fenced(fault: ClusterFault) -> bool:
    return kind_of(fault) is FaultKind.FENCED


def _raise_first(errors: Collection[Exception]) -> None:
    for error in errors:
        raise error
