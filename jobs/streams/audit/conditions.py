"""What a rule about a Kafka Streams application is given, and what it returns. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, TypeAlias

from jobs import limits
from jobs.checks.check import Area, Check, Pattern, Threshold, Unit
from jobs.numbers import sum_of
from jobs.severity import Severity
from jobs.streams.application import Application, Confidence, TaskId
from jobs.streams.endpoints import EndpointFault, endpoint_faults
from jobs.streams.lag import (
    NOT_KEPT,
    InputLag,
    changelog_sums,
    input_lags,
)
from jobs.streams.metadata_state import MetadataState, NotKnowable, metadata_state
from jobs.streams.observation import Facts

FOR, MOST = "for_s", "most"
MOST_LISTED = 20
WATCHED_MS = 600_000


@dataclass(frozen=True, slots=True)
class Added:
    """Partitions that were added to a topic, between two times (equal where the metadata log dates it)."""

    topic: str
    old: int
    new: int
    after_ms: int
    at_ms: int


@dataclass(frozen=True)
class Seen:
    """An application as one collection saw it whole, with its description.

    `before` are the facts of the collection before (None: there was none), `joined` the changelogs when the
    last rebalance was first seen. `changes` are what differs between the snapshots of the last hour
    (`StreamsSnapshot.change`), oldest first. `misrouted` is the share of keys that the application's own
    answers send to the wrong instance, None: not known. `added` is what the metadata log tells, oldest
    first. `memory` is what rules kept in the last audit; a rule replaces its own entry.
    """

    application: Application
    facts: Facts
    before: Facts | None = None
    joined: Facts = NOT_KEPT
    changes: Sequence[Mapping[str, Any]] = ()
    misrouted: float | None = None
    added: Sequence[Added] = ()
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def is_all(self) -> bool:
        """Whether all tasks are known: nothing is left out, and the bytes of all members can be read."""
        return not self.application.left_out and not self.unread

    @property
    def now_ms(self) -> int:
        return self.application.observed_at_ms

    @property
    def is_watched(self) -> bool:
        """Whether the collection before was so shortly ago that what both show lasted in between."""
        return (
            self.before is not None and 0 <= self.now_ms - self.before.observed_at_ms <= WATCHED_MS
        )

    @cached_property
    def endpoint_faults(self) -> tuple[EndpointFault, ...]:
        return endpoint_faults(self.application)

    @cached_property
    def unread(self) -> int:
        """How many threads wrote bytes that could not be read: what they run is not known."""
        return sum(one.problem is not None for one in self.application.threads)

    @cached_property
    def sizes(self) -> Mapping[TaskId, int | None]:
        """Bytes of the changelogs of each task that is known to have stores; None: not known."""
        return changelog_sums(self.application, self.facts, lambda one: one.sizes)

    @cached_property
    def answered(self) -> MetadataState | NotKnowable:
        """What the application itself answers."""
        return metadata_state(self.application)

    @cached_property
    def stateful(self) -> frozenset[str]:
        """The subtopologies with state, as far as known."""
        parts = self.application.subtopologies.values()
        return frozenset(one.subtopology for one in parts if one.is_stateful)

    @property
    def is_state_known(self) -> bool:
        """Whether it is known of every subtopology if it has state."""
        return all(one.is_stateful is not None for one in self.application.subtopologies.values())

    @cached_property
    def is_settled(self) -> bool:
        """Whether the subtopology of every store with a changelog is settled."""
        stores = self.application.stores.values()
        return all(one.confidence is not Confidence.OPEN or not one.changelog for one in stores)

    @cached_property
    def inputs(self) -> Mapping[TaskId, tuple[InputLag, ...]]:
        return input_lags(self.application, self.facts)

    @cached_property
    def windows(self) -> frozenset[str]:
        """The stores of which commits say that they emit windows when they close."""
        return frozenset(
            store for own in self.inputs.values() for lag in own for store in lag.window_close_ms
        )

    @cached_property
    def lag_records(self) -> int | None:
        """The lag of all source partitions; None where that of one is not known."""
        lag = sum_of(one.records for own in self.inputs.values() for one in own)
        return None if lag.unknown else lag.value

    @cached_property
    def copies(self) -> Mapping[TaskId, int]:
        """How many standbys and warm-ups each task has; 0 for others."""
        threads = self.application.threads
        return Counter(chain.from_iterable((*one.now.standby, *one.now.warm_up) for one in threads))


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether the condition of a check holds for an application; `holds` None: not known.

    `text` follows "Kafka Streams application NAME of CLUSTER". `value` is compared with the threshold `most`
    of the check; the condition holds only above it. `is_at_least`: below the threshold it is not known.
    """

    check: Check
    text: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    holds: bool | None = True
    value: float | None = None
    is_at_least: bool = False


Rule: TypeAlias = Callable[[Seen], Iterable[Condition]]


def unknown(check: Check) -> Condition:
    """Return that it is not known whether the condition of a check holds."""
    return Condition(check, holds=None)


def lasts(default_s: float) -> Threshold:
    """Return the threshold `for_s`: how long a condition holds before it is a finding."""
    text = "Time in this state, as far as crosslog watched it, before it is a finding."
    return Threshold(FOR, default_s, Unit.SECONDS, text, most=7 * 86_400)


def most(default: float, unit: Unit, text: str, **limits: float) -> Threshold:
    """Return the threshold `most`, with which `Condition.value` is compared."""
    return Threshold(MOST, default, unit, text, **limits)


some = limits.some


def listed(names: Iterable[object]) -> list[str]:
    """Return the first names for evidence."""
    return [str(one) for one in islice(names, MOST_LISTED)]


streams_check = partial(
    Check, severity=Severity.WARNING, area=Area.STREAMS, narrowed_by=Pattern.GROUP
)
