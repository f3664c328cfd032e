"""The rule about partitions that were added to an input of an application with state. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from jobs.checks.check import check
from jobs.streams.audit.conditions import Added, Condition, Seen, some, streams_check, unknown
from jobs.streams.observation import TopicFacts

KEPT_FOR_MS = 7 * 86_400_000
_MOST, _MEMORY = 20, "added"

ADDED = streams_check(
    id="streams_partitions_added",
    title="Kafka Streams input partitions added",
    question="Do the inputs of tasks with state keep their partition counts?",
    rule="In the last 7 days partitions were added to a topic that a subtopology with state reads, by the "
    "metadata log or by two collections that saw the application. A partitioner that counts partitions "
    "writes keys to others since, and their state stays behind. crosslog cannot see whether the application "
    "was reset since. While the application has no members the finding stays.",
    runbook="Write the records into a new topic with the new number of partitions, and reset the application "
    "(kafka-streams-application-reset). Add partitions to all topics of a join alike.",
)
_JOINS = "Kafka Streams stops where it joins topics with different partition counts."


@check(ADDED)
def judge_added(seen: Seen) -> Iterator[Condition]:
    """Look for additions of the last days, and what they affect."""
    parts = [one for one in seen.application.subtopologies.values() if one.is_stateful is not False]
    read = {topic for part in parts for topic in part.source_topics}
    events = [one for one in _events(seen, read) if one.topic in read]
    if not events:
        return
    names = {one.topic for one in events}
    touched = [part for part in parts if names & set(part.source_topics)]
    with_state = [part for part in touched if part.is_stateful]
    if not with_state:
        yield unknown(ADDED)
        return
    counts = seen.application.topic_partitions
    stores = sorted(
        store.name for part in with_state for store in seen.application.stores_of(part.subtopology)
    )
    others = sorted(
        f"{topic} ({counts[topic]:,})"
        for topic in {topic for part in with_state for topic in part.source_topics}
        if topic not in names and topic in counts and counts[topic] not in {e.new for e in events}
    )
    affected = f"stores {some(stores)}" if stores else "unknown stores"
    joins = f" The same tasks read {some(others)}: {_JOINS}" if others else ""
    yield Condition(
        ADDED,
        f"reads topics to which partitions were added: {some([_told(one) for one in events])}. Keys may be "
        f"on other partitions since. Affected: {affected} of subtopology "
        f"{some([part.subtopology for part in with_state])}.{joins}",
        {
            "added": [[one.topic, one.old, one.new, one.after_ms, one.at_ms] for one in events],
            "stores": stores[:_MOST],
            "other_topics": others[:_MOST],
        },
    )


def _events(seen: Seen, read: set[str]) -> list[Added]:
    """Return the additions that are not too old, the newest last; those of collections are remembered."""
    before, now = seen.before, seen.facts
    known = [Added(*one) for one in seen.memory.get(_MEMORY, ())]
    for topic in sorted(read) if before else ():
        old, new = before and before.topics.get(topic), now.topics.get(topic)
        if before and old and new and old.partitions < new.partitions and _is_same(old, new):
            moments = before.observed_at_ms, now.observed_at_ms
            known.append(Added(topic, old.partitions, new.partitions, *moments))
    since_ms = now.observed_at_ms - KEPT_FOR_MS
    known = [one for one in known if one.at_ms >= since_ms][-_MOST:]
    seen.memory[_MEMORY] = [[o.topic, o.old, o.new, o.after_ms, o.at_ms] for o in known]
    dated = [one for one in seen.added if one.at_ms >= since_ms and one.topic in read]
    told = {(one.topic, one.new) for one in dated}
    found = [*dated, *(one for one in known if (one.topic, one.new) not in told)]
    # A topic with fewer partitions was created again since.
    there = {name: one.partitions for name, one in now.topics.items()}
    found = [one for one in found if there.get(one.topic, 0) >= one.new]
    return sorted(found, key=lambda one: (one.at_ms, one.topic))[-_MOST:]


def _is_same(old: TopicFacts, new: TopicFacts) -> bool:
    """Return whether it may be one topic: the ends of one that was created again begin at 0."""
    return all(new.ends.get(number, end) >= end for number, end in old.ends.items())


def _told(one: Added) -> str:
    at = f"{_moment(one.at_ms)} UTC"
    when = f"at {at}" if one.after_ms == one.at_ms else f"between {_moment(one.after_ms)} and {at}"
    return f"{one.topic} {when} ({one.old:,} -> {one.new:,})"


def _moment(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


CHECKS = (ADDED,)
RULES = (judge_added,)
