"""Severity of a partition's state, and Kafka's counts.

A partition has one severity. Kafka's counts overlap: `Standing.counted_as` are those that include it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

# What a number of in-sync replicas that is larger than the number of replicas means.
BEFORE_LIMIT = "brokers before Kafka 3.7 refuse acks=all here"


class Counted(StrEnum):
    """Kafka's counts of partitions, by what `kafka-topics.sh --describe --...-partitions` lists.

    They overlap: a partition without a leader is also under min ISR (`PartitionDescription.isUnderMinIsr`),
    and at min ISR are also those that have no replica missing, such as all with one replica. The tool
    compares with min.insync.replicas as it is set, the metrics of brokers with the smaller one of it and the
    number of replicas (`Partition.effectiveMinIsr`), and of partitions with a leader only: `BROKER_...` are
    the sums of `AtMinIsrPartitionCount` and `UnderMinIsrPartitionCount`.
    """

    UNDER_REPLICATED = "under_replicated"
    AT_MIN_ISR = "at_min_isr"
    UNDER_MIN_ISR = "under_min_isr"
    OFFLINE = "offline"
    BROKER_AT_MIN_ISR = "broker_at_min_isr"
    BROKER_UNDER_MIN_ISR = "broker_under_min_isr"


# What the brokers' metrics count beside a count of the tool.
OF_BROKERS = {
    Counted.AT_MIN_ISR: Counted.BROKER_AT_MIN_ISR,
    Counted.UNDER_MIN_ISR: Counted.BROKER_UNDER_MIN_ISR,
}


class Severity(IntEnum):
    """The ladder: under-replicated, at-min-ISR, under-min-ISR, offline.

    AT_MIN_ISR is used only when a replica is missing: the next loss stops writes with acks=all.
    """

    OK = 0
    UNDER_REPLICATED = 1
    AT_MIN_ISR = 2
    UNDER_MIN_ISR = 3
    OFFLINE = 4

    @property
    def word(self) -> str:
        """The word for programs and people: `under_min_isr`."""
        return self.name.lower()


class Moves(NamedTuple):
    """The replicas that a reassignment adds and removes; `adding` None: whether there is one is not known."""

    adding: tuple[int, ...] | None = ()
    removing: tuple[int, ...] = ()


NO_MOVES = Moves()


@dataclass(frozen=True, slots=True)
class Standing:
    """The judged state of a partition.

    `missing` are the sync replicas that are not in the ISR, in the order of the replicas: no observers,
    which stay outside by design, no replicas that a reassignment is adding, and none that one of these in the
    ISR replaces. `is_unsure`: replicas are out of the ISR, and whether a reassignment adds them is
    not known: none counts as missing; or all are in the ISR, min.insync.replicas asks for more, and whether
    brokers limit it is not known. OK is then no verdict. `observers_in_isr` were promoted. `is_rf_below_min`:
    min.insync.replicas asks for more replicas than there are, see `effective_min_isr`. `spare` is how many
    in-sync replicas may still be lost before writes with acks=all stop: negative while they are refused, None
    if min.insync.replicas is unknown. `counted_as` are Kafka's counts that the partition is in.
    """

    severity: Severity
    missing: tuple[int, ...] = ()
    observers_in_isr: tuple[int, ...] = ()
    is_rf_below_min: bool = False
    spare: int | None = None
    counted_as: frozenset[Counted] = frozenset()
    is_unsure: bool = False

    @property
    def is_well(self) -> bool:
        """Whether all replicas are in sync, and at least min.insync.replicas."""
        return not (self.severity or self.missing or self.is_rf_below_min or self.is_unsure)

    @property
    def counted_text(self) -> str:
        """Kafka's counts that it is in, so that one can be searched for: `|offline|under_min_isr|`."""
        words = "|".join(sorted(self.counted_as))
        return f"|{words}|" if words else ""

    @property
    def is_writable(self) -> bool:
        """Whether a producer with acks=all can write; by what is known."""
        return self.severity < Severity.UNDER_MIN_ISR


def partition_severity(
    *, leader: int | None, replicas: int, isr: int, min_insync_replicas: int | None
) -> Severity:
    """Return the severity of a partition from the numbers of its replicas and in-sync replicas.

    With an unknown `min_insync_replicas` the two middle severities do not occur. It is limited by the number
    of replicas.
    """
    missing = max(replicas - isr, 0)
    least = effective_min_isr(min_insync_replicas, replicas, is_limited=True)
    return _severity(leader, missing, isr, least)


def judge_partition(  # noqa: PLR0913 - one keyword for each thing that decides
    *,
    leader: int | None,
    replicas: Sequence[int],
    isr: Collection[int],
    min_insync_replicas: int | None,
    observers: Collection[int] = (),
    moves: Moves = NO_MOVES,
    is_limited: bool | None = None,
) -> Standing:
    """Return the judged state of a partition.

    `replicas` are all of them, observers and those being added included; `observers` count for
    min.insync.replicas while they are in the ISR, as a broker counts them, and are never missing.
    `is_limited`: see `effective_min_isr`.
    Kafka counts against the replication factor before the reassignment (KIP-352), so that a new replica in
    the ISR makes up for an original one outside: for one that the reassignment removes, rather than another.
    """
    is_unsure = moves.adding is None and any(
        one not in isr and one not in observers for one in replicas
    )
    adding = replicas if moves.adding is None else moves.adding
    counted = [one for one in replicas if one not in adding and one not in observers]
    out = sorted((one for one in counted if one not in isr), key=lambda one: one in moves.removing)
    short = len(out) - sum(one in isr and one not in observers for one in adding)
    missing = tuple(one for one in replicas if one in out[: max(short, 0)])
    least = effective_min_isr(min_insync_replicas, len(replicas), is_limited=is_limited)
    is_unsure = is_unsure or (least is None and min_insync_replicas is not None)
    asked = effective_min_isr(
        min_insync_replicas, len(replicas), is_limited=is_limited is not False
    )
    severity = _severity(leader, len(missing), len(isr), asked)
    return Standing(
        severity,
        missing,
        tuple(one for one in replicas if one in observers and one in isr),
        min_insync_replicas is not None and min_insync_replicas > len(replicas),
        None if least is None else (len(isr) if leader is not None else 0) - least,
        kafka_counts(
            leader,
            len(replicas) - len(adding),
            len(isr),
            min_insync_replicas,
            asked if severity else least,
        ),
        is_unsure and not severity,
    )


def kafka_counts(
    leader: int | None, replicas: int, isr: int, least: int | None, asked: int | None
) -> frozenset[Counted]:
    """Return in which of Kafka's counts a partition is.

    `replicas` are those without what a reassignment adds; `least` is min.insync.replicas as it is set,
    `asked` what the leader asks for. Kafka knows no observers: one outside of the ISR is a missing replica to
    it.
    """
    is_in = {
        Counted.UNDER_REPLICATED: isr < replicas,
        Counted.AT_MIN_ISR: isr == least,
        Counted.UNDER_MIN_ISR: leader is None or (least is not None and isr < least),
        Counted.OFFLINE: leader is None,
        Counted.BROKER_AT_MIN_ISR: leader is not None and isr == asked,
        Counted.BROKER_UNDER_MIN_ISR: None not in {leader, asked} and isr < (asked or 0),
    }
    return frozenset(one for one, holds in is_in.items() if holds)


def effective_min_isr(
    min_insync_replicas: int | None, replicas: int, *, is_limited: bool | None
) -> int | None:
    """Return how many in-sync replicas a leader asks for; None: not known.

    `is_limited`: no more than there are replicas, since Kafka 3.7 (`Partition.effectiveMinIsr`, KAFKA-15583).
    Before, a leader asks for the number that is set, and refuses every write with acks=all. None: not known.
    """
    if min_insync_replicas is None or min_insync_replicas <= replicas:
        return min_insync_replicas
    return {True: replicas, False: min_insync_replicas, None: None}[is_limited]


def _severity(leader: int | None, missing: int, isr: int, least: int | None) -> Severity:
    if leader is None:
        return Severity.OFFLINE
    if least is not None and isr < least:
        return Severity.UNDER_MIN_ISR
    if not missing:
        return Severity.OK
    return Severity.AT_MIN_ISR if isr == least else Severity.UNDER_REPLICATED
