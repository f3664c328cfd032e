"""Rules about internal topics: their partitions, and settings that lose what they hold. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from jobs.checks.check import check
from jobs.severity import Severity
from jobs.streams.application import Confidence
from jobs.streams.audit.conditions import Condition, Seen, some, streams_check, unknown
from jobs.streams.observation import TopicFacts
from jobs.wire.topics.streams_topics import (
    CLEANUP_POLICY,
    changelog_store,
    internal_topics,
)

_NAMED = 20
# What Kafka Streams calls stores that it names itself.
_OF_WINDOWS = (
    "KSTREAM-JOINTHIS-",
    "KSTREAM-JOINOTHER-",
    "KSTREAM-OUTERTHIS-",
    "KSTREAM-OUTEROTHER-",
)
_OF_TABLES = "KTABLE-"
# Early versions of Kafka Streams wrote the largest INT64 for no limit.
_CENTURY_MS = 100 * 365 * 86_400_000

PARTITIONS = streams_check(
    id="streams_internal_topic_partitions",
    title="Kafka Streams changelog partition count",
    question="Do changelogs have as many partitions as there are tasks?",
    rule="A changelog whose subtopology is settled has another number of partitions than its subtopology has "
    "tasks.",
    severity=Severity.CRITICAL,
    runbook="Kafka Streams refuses to start with such a changelog. Reset the application "
    "(kafka-streams-application-reset), or restore the partitions of the source in a new topic.",
)
SETTINGS = streams_check(
    id="streams_internal_topic_settings",
    title="Kafka Streams internal topic settings",
    question="Do the settings of internal topics keep what they hold?",
    rule="A changelog is not compacted; that of a key-value store deletes, or that of a window store does "
    "not (where a commit or a name that Kafka Streams made tells its kind); an internal topic that deletes "
    "has a limit in retention.bytes; a repartition topic compacts or has a limit in retention.ms; an "
    "internal topic has one replica, and a topic that the application reads has more.",
    runbook="Alter the settings of the topics. Set replication.factor of the application for new ones.",
)


@check(PARTITIONS)
def judge_partitions(seen: Seen) -> Iterator[Condition]:
    """Compare partitions of internal topics with the tasks that use them."""
    wrong: dict[str, str] = {}
    is_known = seen.is_settled
    parts = seen.application.subtopologies
    for store in seen.application.stores.values():
        name, part = store.changelog, parts.get(store.subtopology or "")
        if not name or store.confidence is Confidence.OPEN or store.is_global:
            continue
        topic = seen.facts.topics.get(name)
        if topic is None or part is None or part.partitions is None:
            is_known = False
        elif topic.partitions != part.partitions:
            wrong[name] = (
                f"{topic.partitions:,} partitions, and subtopology {part.subtopology} has "
                f"{part.partitions:,} tasks"
            )
    if wrong:
        named = some([f"{name} has {text}" for name, text in wrong.items()])
        yield Condition(
            PARTITIONS, f"has changelogs that do not fit its tasks: {named}.", _first(wrong)
        )
    elif not is_known:
        yield unknown(PARTITIONS)


@check(SETTINGS)
def judge_settings(seen: Seen) -> Iterator[Condition]:
    """Look for settings of internal topics by which their records get lost, or are kept for ever."""
    one, topics = seen.application, seen.facts.topics
    own = internal_topics(one.application_id, topics)
    read = {name for part in one.subtopologies.values() for name in part.source_topics} - own
    is_copied = any((topics[name].replicas or 0) > 1 for name in read if name in topics)
    wrong: dict[str, str] = {}
    is_known = True
    for name in sorted(own):
        store = changelog_store(one.application_id, name)
        if CLEANUP_POLICY not in topics[name].settings:
            is_known = False
        faults = list(_faults(topics[name], store, seen.windows))
        if is_copied and topics[name].replicas == 1:
            faults.append("one replica")
        if faults:
            wrong[name] = ", ".join(faults)
    if wrong:
        named = some([f"{name} ({told})" for name, told in wrong.items()])
        yield Condition(
            SETTINGS, f"has internal topics with unsafe settings: {named}.", _first(wrong)
        )
    elif not is_known:
        yield unknown(SETTINGS)


def _faults(topic: TopicFacts, store: str | None, windows: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the settings of an internal topic; `store` None: a repartition topic."""
    text = topic.settings.get(CLEANUP_POLICY)
    if text is None:
        return
    policy = {one.strip() for one in text.split(",")}
    is_wrong = "compact" in policy if store is None else "compact" not in policy
    if store is not None and not is_wrong:
        is_of_windows = store in windows or store.startswith(_OF_WINDOWS)
        deletes = "delete" in policy
        is_wrong = not deletes if is_of_windows else deletes and store.startswith(_OF_TABLES)
    if is_wrong:
        yield f"{CLEANUP_POLICY}={text[:40]}"
    if "delete" in policy and _limit(topic, "retention.bytes") is not None:
        yield f"retention.bytes={_limit(topic, 'retention.bytes')}"
    retention_ms = _limit(topic, "retention.ms")
    if store is None and retention_ms is not None and retention_ms < _CENTURY_MS:
        yield f"retention.ms={retention_ms}"


def _limit(topic: TopicFacts, name: str) -> int | None:
    """Return a limit; None where there is none, or it is not known."""
    text = topic.settings.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _first(wrong: dict[str, str]) -> dict[str, object]:
    return {"topics": dict(islice(wrong.items(), _NAMED)), "topic_count": len(wrong)}


CHECKS = (PARTITIONS, SETTINGS)
RULES = (judge_partitions, judge_settings)
