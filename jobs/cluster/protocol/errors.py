"""What can go wrong on crosslog's own connections: Kafka's error numbers, named once.

Faults of the way to a broker (`Unreachable`, `TlsFailed`, `AuthenticationFailed` ...) are those of
`jobs.cluster.errors`. Here are the faults that only the copy engine can meet, and the table that
gives every error number of an answer its name. Source: org.apache.kafka.common.protocol.Errors, 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import (
    ClusterFault,
    NotAuthorized,
    ProtocolMismatch,
    RecordTooLarge,
    Refused,
    Remedy,
    TimedOut,
    UnknownTopicOrPartition,
)
from jobs.cluster.untrusted_text import shortened

if TYPE_CHECKING:
    from jobs.cluster.protocol.transport.apis import SupportedApi


class FaultKind(StrEnum):
    """What the caller does next.

    RESET_POSITION: the offset is not in the log. TOPIC_CHANGED: compare the topic's id in fresh metadata.
    BATCH_REFUSED: the same bytes will never be taken. NEW_TRANSACTION: abort, `init_producer_id`, resume
    at the committed positions. FENCED: stop, somebody else does the work.
    """

    RETRY = "retry"
    REFRESH_METADATA = "refresh_metadata"
    FIND_COORDINATOR = "find_coordinator"
    RESET_POSITION = "reset_position"
    TOPIC_CHANGED = "topic_changed"
    BATCH_REFUSED = "batch_refused"
    NEW_TRANSACTION = "new_transaction"
    FENCED = "fenced"
    DENIED = "denied"
    FAILED = "failed"


def kind_of(fault: ClusterFault) -> FaultKind:
    """Return what to do after any fault; those without a kind of their own are retried or final."""
    if isinstance(fault, AnswerFault):
        return fault.kind
    return FaultKind.RETRY if fault.retriable else FaultKind.FAILED


class ConnectionLost(ClusterFault):
    """The connection ended before the answer came.

    `may_have_arrived` tells whether the broker may have got the request, and may have done it.
    """

    code = "connection_lost"
    remedy = Remedy.RETRY
    hint = "The broker was stopped or restarted, or the network failed. The connection is opened again."
    may_have_arrived = False


class RequestTimedOut(TimedOut):
    """The broker kept the connection but did not answer in time; it may have carried out the request."""

    remedy = Remedy.RETRY
    may_have_arrived = True


class VersionNotOffered(ClusterFault):
    """Broker and crosslog have no version of a request in common.

    `speaks` is the request; None: all of them. Other brokers may know it, see `RawCluster.compare_brokers`.
    """

    code = "version_not_offered"
    remedy = Remedy.FINAL
    hint = "The cluster's page has the version that it needs, and what works another way."
    speaks: SupportedApi | None = None


class BrokerNotKnown(ClusterFault):
    """The metadata has no broker with this id (any more)."""

    code = "broker_not_known"
    remedy = Remedy.RETRY
    hint = "The broker is down or was removed: the metadata is read again."


class OutcomeUnknown(ClusterFault):
    """No broker confirmed whether a transaction was committed or aborted; either may be true."""

    code = "outcome_unknown"
    remedy = Remedy.START_OVER
    hint = (
        "Start the producer again: its first request commits or aborts the open transaction, and the "
        "committed positions then show the result."
    )


class AnswerFault(ClusterFault):
    """A broker answered with an error.

    `error` is Kafka's name of it (`NOT_LEADER_OR_FOLLOWER`), `kind` what to do next, `meaning` the
    middle of the sentence for a person.
    """

    code = "answer"
    remedy = Remedy.OPERATOR
    kind = FaultKind.FAILED
    meaning = "the broker refused the request"
    error = ""


class Unavailable(AnswerFault):
    """A moment in the life of a broker; the same request may succeed soon."""

    code = "unavailable"
    remedy = Remedy.RETRY
    kind = FaultKind.RETRY
    meaning = "the broker cannot do it right now"
    hint = "The request is repeated. If it keeps failing, check the broker's log and the partition's ISR."


class LeaderMoved(AnswerFault):
    """This broker does not lead the partition, or one of the two knows an older leader epoch."""

    code = "leader_moved"
    remedy = Remedy.RETRY
    kind = FaultKind.REFRESH_METADATA
    meaning = "the partition is led by another broker, or in another epoch"
    hint = "The leader is looked up again; a partition without a leader is offline."


class CoordinatorMoved(AnswerFault):
    """This broker does not coordinate the group or transactional id (yet, or any more)."""

    code = "coordinator_moved"
    remedy = Remedy.RETRY
    kind = FaultKind.FIND_COORDINATOR
    meaning = "the coordinator is moving or loading"
    hint = (
        "It is looked up again; if it lasts, partitions of __consumer_offsets (groups) or "
        "__transaction_state (transactions) are offline."
    )


class OffsetOutOfRange(AnswerFault):
    """The offset is not in the log: deleted by retention, truncated, or never written."""

    code = "offset_out_of_range"
    remedy = Remedy.START_OVER
    kind = FaultKind.RESET_POSITION
    meaning = "the offset is not in the log"
    hint = "Compare with the log's start and end: retention was quicker, or the log was cut."


class TopicUnknown(AnswerFault, UnknownTopicOrPartition):
    """The broker does not know the topic or partition by its name; also for a moment after its creation."""

    code = "unknown_topic_or_partition"
    remedy = Remedy.RETRY
    kind = FaultKind.TOPIC_CHANGED
    meaning = "the broker does not know this topic or partition"
    hint = "It may have been deleted, or be so new that not every broker knows it."


class TopicIdUnknown(AnswerFault):
    """The broker knows no topic with this id (yet): it was deleted, perhaps created again, or is very new.

    When fresh metadata has another id for the name, it is another topic.
    """

    code = "unknown_topic_id"
    remedy = Remedy.RETRY
    kind = FaultKind.TOPIC_CHANGED
    meaning = "the topic with this id does not exist: it was deleted, or deleted and created again"
    hint = "A topic that was created again starts at offset 0: positions of the old one mean nothing in it."


class BatchRefused(AnswerFault):
    """The target does not take this batch as it is."""

    code = "batch_refused"
    remedy = Remedy.FINAL
    kind = FaultKind.BATCH_REFUSED
    meaning = "the broker does not take this batch"
    hint = "The partition takes the record path, or the batch is damaged: compare its CRC at the source."


class BatchTooLarge(AnswerFault, RecordTooLarge):
    """The batch is larger than `max.message.bytes` or a segment of the target topic."""

    code = "record_too_large"
    remedy = Remedy.OPERATOR
    kind = FaultKind.BATCH_REFUSED
    meaning = "the batch is larger than the target topic allows"
    hint = "Raise max.message.bytes of the target topic above the size of the source's batches."


class OutOfSequence(AnswerFault):
    """The batch's sequence number does not follow the last one of this producer."""

    code = "out_of_sequence"
    remedy = Remedy.START_OVER
    kind = FaultKind.NEW_TRANSACTION
    meaning = "the sequence number does not follow the producer's last batch"
    hint = "The producer starts again with a new epoch, from the committed positions."


class TransactionFailed(AnswerFault):
    """The open transaction cannot continue, or there is none."""

    code = "transaction_failed"
    remedy = Remedy.START_OVER
    kind = FaultKind.NEW_TRANSACTION
    meaning = "the transaction cannot continue"
    hint = "It is aborted, and replication resumes at the committed positions."


class ProducerFenced(AnswerFault):
    """Another producer has taken over the transactional id; this one must stop."""

    code = "producer_fenced"
    remedy = Remedy.OPERATOR
    kind = FaultKind.FENCED
    meaning = "another producer has taken over this transactional id"
    hint = (
        "Another driver of the same flow runs, or the transaction was open longer than its timeout."
    )


class VersionRefused(AnswerFault, VersionNotOffered):
    """The broker offers this version of a request in ApiVersions, and then refuses it."""

    code = "version_refused"
    remedy = Remedy.FINAL
    meaning = "the broker refuses a version of a request that it offers"
    hint = (
        "The feature behind it is not finalized or not switched on (kafka-features.sh describe), or a proxy "
        "changes what brokers offer (kafka-broker-api-versions.sh)."
    )


class NotABroker(AnswerFault, ProtocolMismatch):
    """The address is a controller's listener, which answers other questions than a broker's (KIP-919)."""

    code = "not_a_broker"
    remedy = Remedy.FINAL
    meaning = "this is a controller listener, not a broker listener"
    hint = "Enter the port of a broker listener. A node with both roles has one port for each."
    field = "bootstrap_servers"


class Denied(AnswerFault, NotAuthorized):
    """The principal may not do this."""

    code = "not_authorized"
    remedy = Remedy.OPERATOR
    kind = FaultKind.DENIED
    meaning = "the principal may not do this"
    hint = "Give the principal the missing ACL."


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a fault: which cluster and broker, doing what, and to which partition.

    `doing` begins a sentence ("Fetching"); `offset` is None where there is none to name.
    """

    cluster: str
    broker_id: int | None
    doing: str
    partition: TopicPartition | None = None
    offset: int | None = None

    def __str__(self) -> str:
        words = [self.doing]
        if self.partition is not None:
            words.append(str(self.partition))
        if self.offset is not None:
            words.append(f"from offset {self.offset}")
        if self.broker_id is not None:
            words.append(f"at broker {self.broker_id}")
        return " ".join(words)


UNSUPPORTED_VERSION = 35
_KINDS: dict[type[AnswerFault], tuple[int, ...]] = {
    OffsetOutOfRange: (1, 109),
    BatchRefused: (2, 32, 43, 76, 87),
    TopicUnknown: (3,),
    LeaderMoved: (5, 6, 9, 72, 74, 75),
    Unavailable: (7, 13, 19, 20, 51, 56, 78, 89),
    BatchTooLarge: (10, 18),
    CoordinatorMoved: (14, 15, 16),
    Denied: (29, 30, 31, 53),
    OutOfSequence: (45, 46, 59),
    ProducerFenced: (47, 90),
    TransactionFailed: (48, 49, 120),
    TopicIdUnknown: (100, 103),
    VersionRefused: (UNSUPPORTED_VERSION,),
    NotABroker: (114, 115),
}
_BY_NUMBER = {number: kind for kind, numbers in _KINDS.items() for number in numbers}


class _OtherAnswer(AnswerFault, Refused):
    code = "refused"
    remedy = Remedy.OPERATOR
    hint = "Look at the broker's log for the same moment."


def answer_fault(number: int, where: Where, said: str | None = None) -> AnswerFault | None:
    """Return the fault for an error number of an answer; None for 0, which is no error.

    `said` is the broker's own message, when the answer carried one.
    """
    if number == 0:
        return None
    kind = _BY_NUMBER.get(number, _OtherAnswer)
    name, is_retriable = _known(number)
    tail = f": {shortened(said).rstrip('.')}" if said else ""
    known = "" if kind is NotABroker else f" ({name}{tail})"
    fault = kind(f"{where}: {kind.meaning}{known}.", cluster=where.cluster)
    fault.error = name
    if kind is _OtherAnswer and is_retriable:
        fault.remedy, fault.kind = Remedy.RETRY, FaultKind.RETRY
    return fault


def _known(number: int) -> tuple[str, bool]:
    try:
        known = ErrorCode(number)
    except ValueError:
        return f"error {number}", False
    return known.name.upper(), known.retriable
