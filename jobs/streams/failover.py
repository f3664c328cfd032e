"""Whether an application could resume on the target of a flow with its state: rules over stored facts.

What the wire does not tell: where a changelog ended when the group committed. Two comparisons stand in for
it. A changelog is covered when its copy reached an end that was read after the newest checkpoint was written.
It is behind when the copy, measured after that checkpoint, lacks records that were there before it. All else
is unknown. Clocks of brokers and of crosslog are taken to agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from jobs.limits import some
from jobs.numbers import format_count
from jobs.streams.application import Application
from jobs.streams.observation import Facts
from jobs.wire.topics.streams_topics import CLEANUP_POLICY, changelog_store, is_repartition

MOST_NAMES = 3
# A copy ends before the marker of the last transaction.
_MARKER = 1
# A round reads for no longer.
READ_WITHIN_MS = 45_000
# A run of crosslog reports its positions no later, and Connect writes those of MirrorMaker 2 each minute.
REPORTED_WITHIN_MS, WRITTEN_WITHIN_MS = 30_000, 90_000


@dataclass(frozen=True, slots=True)
class Changelog:
    """A changelog with the state behind it."""

    state: str
    cleanup_policy: str = ""


class Reading(NamedTuple):
    """Ends of changelogs, by topic and partition, that were read between two moments."""

    from_ms: int
    until_ms: int
    ends: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Needs:
    """What an application needs on another cluster; `partitions` has the topics whose count is known.

    `readings` are the newest ends of its changelogs, then those of its last rebalance.
    """

    application_id: str
    sources: frozenset[str]
    changelogs: Mapping[str, Changelog]
    repartitions: frozenset[str]
    partitions: Mapping[str, int]
    readings: tuple[Reading, ...] = ()
    left_out: str = ""


class Copied(NamedTuple):
    """A source partition as a flow measured it; None: not known."""

    position: int | None
    log_start: int | None
    end: int | None
    lag: int | None

    @property
    def reached(self) -> int | None:
        """Up to where everything is copied: without lag up to the end, whatever markers are there."""
        if self.position is None or self.lag != 0 or self.end is None:
            return self.position
        return max(self.position, self.end)

    @property
    def is_copied(self) -> bool | None:
        if self.position is not None:
            return True
        return None if self.end is None or self.log_start is None else self.end == self.log_start


class TargetTopic(NamedTuple):
    """A topic of the target; `cleanup_policy` is empty while it is not known."""

    partitions: int
    cleanup_policy: str = ""


@dataclass(frozen=True, slots=True)
class FlowSide:
    """What a flow and its target show of one application.

    `remote` names the copy of each topic that the flow selects, `elsewhere` are topics that another flow of
    the same clusters selects. `unproven` counts the partitions with commits and without a checkpoint, by
    topic. `used_topics` are those that the group of this id committed on the target, `prefixed` the topics of
    the target whose names begin with the id. `stale` are sentences on what is too old to judge by. A position
    may be older than its measurement by `reported_within_ms`.
    """

    target: str
    remote: Mapping[str, str]
    has_group: bool
    elsewhere: frozenset[str] = frozenset()
    copied: Mapping[str, Mapping[int, Copied]] = field(default_factory=dict)
    measured_at_ms: int = 0
    checkpoint_count: int = 0
    unproven: Mapping[str, int] = field(default_factory=dict)
    newest_checkpoint_ms: int | None = None
    topics: Mapping[str, TargetTopic] = field(default_factory=dict)
    members: int | None = 0
    used_topics: frozenset[str] = frozenset()
    prefixed: frozenset[str] = frozenset()
    stale: tuple[str, ...] = ()
    reported_within_ms: int = REPORTED_WITHIN_MS


class Reason(NamedTuple):
    """Why it is not ready, or why that is unknown: a sentence, and what to do."""

    code: str
    text: str
    todo: str
    is_unknown: bool = False


class Failover(NamedTuple):
    """Whether an application could resume with its state; `ready` None: not known."""

    ready: bool | None
    reasons: tuple[Reason, ...]


def needs_of(application: Application, facts: Facts, joined: Facts, until_ms: int) -> Needs:
    """Return what an application needs, as it was last seen whole.

    `facts` were read until a moment, `joined` are the changelogs as of the last rebalance.
    """
    name, seen = application.application_id, application.topic_partitions
    read = {topic for one in application.subtopologies.values() for topic in one.source_topics}
    of_store = {one.changelog: one for one in application.stores.values() if one.changelog}
    changelogs = {}
    for topic in sorted({*of_store, *(one for one in seen if changelog_store(name, one))}):
        store, known = of_store.get(topic), facts.topics.get(topic)
        state = f"store {store.name if store else changelog_store(name, topic)}"
        if store is not None and store.candidates:
            state += f" of subtopology {' or '.join(store.candidates)}"
        policy = known.settings.get(CLEANUP_POLICY, "") if known else ""
        changelogs[topic] = Changelog(state, policy)
    repartitions = frozenset(one for one in {*seen, *read} if is_repartition(name, one))
    return Needs(
        name,
        frozenset(read - repartitions - changelogs.keys()),
        changelogs,
        repartitions,
        seen,
        (
            _reading(facts, changelogs, until_ms),
            _reading(joined, changelogs, joined.observed_at_ms + READ_WITHIN_MS),
        ),
        " ".join(application.left_out),
    )


def _reading(facts: Facts, changelogs: Collection[str], until_ms: int) -> Reading:
    ends = {topic: one.ends for topic, one in facts.topics.items() if topic in changelogs}
    return Reading(facts.observed_at_ms, until_ms, ends)


def judge_failover(needs: Needs, side: FlowSide) -> Failover:
    """Return whether an application could resume on the target of a flow with its state, and why not."""
    reasons = tuple(_reasons(needs, side))
    if any(not one.is_unknown for one in reasons):
        return Failover(ready=False, reasons=reasons)
    return Failover(None if reasons else True, reasons)


def _reasons(needs: Needs, side: FlowSide) -> Iterator[Reason]:
    if side.stale:
        for text in side.stale:
            yield _unknown("stale", text, "Check when clusters and flow were last read.")
        return
    if needs.left_out:
        todo = "What is left out was not checked."
        yield _unknown("left_out", needs.left_out, todo)
    topics = needs.sources | needs.changelogs.keys()
    copied = {topic: _is_copied(topic, needs, side) for topic in sorted(topics)}
    yield from _copies(needs, side, copied)
    yield from _differences(needs, side, [one for one in copied if copied[one]])
    yield from _progress(needs, side, [one for one in needs.changelogs if copied[one]])
    yield from _repartitions(needs, side)
    yield from _offsets(needs, side)
    yield from _target(needs, side)


def _unknown(code: str, text: str, todo: str) -> Reason:
    return Reason(code, text, todo, is_unknown=True)


def _is_copied(topic: str, needs: Needs, side: FlowSide) -> bool | None:
    """Return whether all partitions of a topic are being copied; None: the flow cannot tell."""
    if topic not in side.remote:
        return None if topic in side.elsewhere else False
    rows = side.copied.get(topic, {})
    if side.remote[topic] not in side.topics or not rows:
        return False
    answers = {one.is_copied for one in rows.values()}
    if False in answers or len(rows) < needs.partitions.get(topic, 0):
        return False
    return None if None in answers or topic not in needs.partitions else True


def _copies(needs: Needs, side: FlowSide, copied: Mapping[str, bool | None]) -> Iterator[Reason]:
    lost = [one for one in copied if copied[one] is False]
    if states := [one for one in lost if one in needs.changelogs]:
        yield Reason(
            "changelog_not_copied",
            f"The state of {_few(needs.changelogs[one].state for one in states)} would be empty or partial: "
            f"not all partitions of {_count(states, 'changelog')} are copied ({_few(states)}).",
            "Add them to the topics of the flow. Offsets of the group are beyond the records that would "
            "rebuild the state.",
        )
    if inputs := [one for one in lost if one in needs.sources]:
        yield Reason(
            "source_not_copied",
            f"Not all partitions of {_count(inputs, 'source topic')} are copied ({_few(inputs)}).",
            "Add them to the topics of the flow, or look why it does not copy them.",
        )
    unknown = [one for one in copied if copied[one] is None]
    if others := [one for one in unknown if one not in side.remote]:
        text = f"Another flow copies {_few(others)}."
        yield _unknown("copied_elsewhere", text, "Look at the other flow, too.")
    if others := [one for one in unknown if one in side.remote]:
        text = f"It is not known whether {_few(others)} are copied."
        yield _unknown("copy_unknown", text, "Look at the partitions of the flow.")


def _differences(needs: Needs, side: FlowSide, copied: Collection[str]) -> Iterator[Reason]:
    renamed = [one for one in (*copied, *needs.repartitions) if side.remote.get(one, one) != one]
    if renamed:
        first = renamed[0]
        yield Reason(
            "renamed",
            f"The flow renames {_count(renamed, 'topic')} ({_few(renamed)}), for example to "
            f"{side.remote[first]}. Under the same application.id the application looks for {first}.",
            "Use a flow that keeps the names (IdentityReplicationPolicy).",
        )
    counts = [
        f"{one}: {needs.partitions[one]:,} and {side.topics[side.remote[one]].partitions:,}"
        for one in copied
        if one in needs.partitions
        and needs.partitions[one] != side.topics[side.remote[one]].partitions
    ]
    if counts:
        yield Reason(
            "partitions_differ",
            f"Partition counts of source and target differ ({_few(counts)}).",
            "Tasks and keys would not be where their state is. Make the counts equal.",
        )
    policies = [
        f"{one}: {ours} and {theirs}"
        for one in copied
        if one in needs.changelogs
        and (ours := _sorted(needs.changelogs[one].cleanup_policy))
        and (theirs := _sorted(side.topics[side.remote[one]].cleanup_policy))
        and ours != theirs
    ]
    if policies:
        yield Reason(
            "policy_differs",
            f"cleanup.policy of changelogs differs on the target ({_few(policies)}).",
            "Set it as on the source: state that a policy deletes cannot be restored.",
        )


def _progress(needs: Needs, side: FlowSide, changelogs: Iterable[str]) -> Iterator[Reason]:
    newest = side.newest_checkpoint_ms
    if newest is None:
        return
    behind: dict[str, int] = {}
    unknown: list[str] = []
    for topic in changelogs:
        for number, row in side.copied[topic].items():
            ends = [(one, one.ends.get(topic, {}).get(number)) for one in needs.readings]
            missing = _missing(row, ends, newest, side)
            if missing is None:
                unknown.append(f"{topic}-{number}")
            elif missing:
                behind[f"{topic}-{number}"] = missing
    read = (
        f"Newest checkpoint {_clock(newest)}, copy measured {_clock(side.measured_at_ms)}, changelog ends "
        f"read {' and '.join(_clock(one.from_ms) for one in needs.readings if one.ends)}."
    )
    if behind:
        yield Reason(
            "changelog_behind",
            f"{format_count(sum(behind.values()))} records of {_count(behind, 'changelog partition')} "
            f"({_few(behind)}) were written before the newest checkpoint of the group and are not copied. "
            f"{read}",
            "Let the flow catch up before the group resumes: these changes of state would be missing.",
        )
    if unknown:
        yield _unknown(
            "progress_unknown",
            f"No two readings show whether {_count(unknown, 'changelog partition')} ({_few(unknown)}) "
            f"are copied up to the newest checkpoint. {read}",
            "Stop the application and look again after the next checkpoint, within 3 minutes: all readings "
            "are then newer.",
        )


def _missing(
    row: Copied, ends: Iterable[tuple[Reading, int | None]], newest: int, side: FlowSide
) -> int | None:
    """Return how many records are missing that were there before the newest checkpoint; None: not known."""
    reached, is_newer = row.reached, side.measured_at_ms >= newest
    if reached is None:
        # Nothing was ever copied: an empty partition has nothing to miss at its measurement.
        return 0 if row.is_copied and is_newer else None
    if row.lag == 0 and is_newer:
        return 0
    known = [(one, end) for one, end in ends if end is not None]
    if any(one.from_ms >= newest and reached >= end for one, end in known):
        return 0
    if newest > side.measured_at_ms - side.reported_within_ms:
        return None
    behind = max((end - reached for one, end in known if one.until_ms <= newest), default=0)
    return behind if behind > _MARKER else None


def _repartitions(needs: Needs, side: FlowSide) -> Iterator[Reason]:
    copied = sorted(one for one in needs.repartitions if side.copied.get(one))
    if copied:
        yield Reason(
            "repartition_copied",
            f"The flow copies {_count(copied, 'repartition topic')} ({_few(copied)}). Kafka Streams deletes "
            "their records behind the group, and copies and committed offsets are of another moment than "
            "those of the source topics: records would be processed twice or be missing.",
            "Exclude them from the flow and delete the copies: the application creates these topics itself.",
        )


def _offsets(needs: Needs, side: FlowSide) -> Iterator[Reason]:
    places = {topic: count for topic, count in side.unproven.items() if topic in needs.sources}
    if not side.has_group:
        text = f"The flow does not select the group {needs.application_id}."
        todo = "Add it to the groups of the flow: without offsets auto.offset.reset decides."
        yield Reason("offsets_not_translated", text, todo)
    elif places or not side.checkpoint_count:
        where = f"{sum(places.values()):,} partitions of {_few(places)}" if places else "any topic"
        text = f"The group has no checkpoint for {where}."
        todo = "The page of the group in this flow says why: without offsets auto.offset.reset decides."
        yield Reason("offsets_not_translated", text, todo)


def _target(needs: Needs, side: FlowSide) -> Iterator[Reason]:
    ours = set(side.remote.values())
    name, target = needs.application_id, side.target
    if side.members is None:
        text = f"It is not known whether the group {name} has members on {target}."
        yield _unknown("target_unknown", text, "Look at the groups of the target.")
    used = sorted(side.used_topics - ours)
    if side.members or used:
        told = [f"has {side.members:,} members"] if side.members else []
        told += [f"has offsets of its own ({_few(used)})"] if used else []
        yield Reason(
            "application_id_taken",
            f"On {target} a group {name} {' and '.join(told)}.",
            "Stop that application or use another application.id. Delete its group if it is not used.",
        )
    if strange := sorted(side.prefixed - ours):
        yield Reason(
            "topics_taken",
            f"{target} has {_count(strange, 'topic')} with the prefix of the application that the flow "
            f"does not write ({_few(strange)}).",
            "If they are of an earlier run on the target, reset the application there before the failover.",
        )


def _sorted(policy: str) -> str:
    return ",".join(sorted(one.strip() for one in policy.split(",") if one.strip()))


def _few(names: Iterable[str]) -> str:
    return some(sorted(names), MOST_NAMES)


def _count(found: Collection[str], noun: str) -> str:
    return f"{len(found):,} {noun}{'' if len(found) == 1 else 's'}"


def _clock(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%H:%M:%S} UTC"
