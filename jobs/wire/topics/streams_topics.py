"""Which topics belong to a Kafka Streams application, by their names, and kinds of its stores.

Kafka Streams puts the application's id, which is its group id, before every name of its own. Two ids may
begin alike, so the longest id that fits owns a topic. Names that an application takes itself (`topicGroup`
prefixes) are not seen here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

_CHANGELOG, _REPARTITION = "-changelog", "-repartition"
# The two topics of a foreign-key join: with a name of the user's, or with a number.
_JOIN_NAMED = ("-subscription-registration-topic", "-subscription-response-topic")
_JOIN_NUMBERED = (
    "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-",
    "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-",
)
_JOIN_END, _NUMBER_DIGITS = "-topic", 10
# How the names of all internal topics end; others may end so, too.
ENDINGS = (_CHANGELOG, _REPARTITION, _JOIN_END)


def own_topics(
    application_id: str, group_ids: Iterable[str], topics: Iterable[str]
) -> frozenset[str]:
    """Return the topics whose names begin with the id, without those of a longer group id that fits."""
    prefix = f"{application_id}-"
    longer = tuple(f"{one}-" for one in group_ids if one.startswith(prefix))
    return frozenset(
        topic for topic in topics if topic.startswith(prefix) and not topic.startswith(longer)
    )


def changelog_store(application_id: str, topic: str) -> str | None:
    """Return the store of a changelog, None for any other topic."""
    name = _own_name(application_id, topic)
    return name.removesuffix(_CHANGELOG) or None if name.endswith(_CHANGELOG) else None


def is_repartition(application_id: str, topic: str) -> bool:
    """Whether a topic carries records between subtopologies; those of foreign-key joins do."""
    name = _own_name(application_id, topic)
    if name.endswith((_REPARTITION, *_JOIN_NAMED)):
        return True
    for start in _JOIN_NUMBERED:
        if name.startswith(start) and name.endswith(_JOIN_END):
            number = name.removeprefix(start).removesuffix(_JOIN_END)
            return len(number) == _NUMBER_DIGITS and number.isascii() and number.isdigit()
    return False


def internal_topics(application_id: str, topics: Collection[str]) -> frozenset[str]:
    """Return those of the application's topics that Kafka Streams made."""
    return frozenset(topic for topic in topics if is_internal(application_id, topic))


def is_internal(application_id: str, topic: str) -> bool:
    """Whether Kafka Streams made a topic for this application: a changelog or a repartition topic."""
    return bool(changelog_store(application_id, topic)) or is_repartition(application_id, topic)


def _own_name(application_id: str, topic: str) -> str:
    """Return what follows the prefix, empty when the topic has another."""
    prefix = f"{application_id}-"
    return topic.removeprefix(prefix) if topic.startswith(prefix) else ""


StoreKind: TypeAlias = Literal["key-value", "window or session", "versioned"]

CLEANUP_POLICY, COMPACTION_LAG = "cleanup.policy", "min.compaction.lag.ms"
# A versioned store keeps its history this much longer than it has to.
_VERSIONED_LAG_MS = 24 * 60 * 60 * 1000


def store_kind(settings: Mapping[str, str]) -> StoreKind | None:
    """Return what kind of store a changelog with these settings backs; None: none that Streams makes.

    A guess: settings can be given per store. Source: InternalTopicConfig and its subclasses.
    """
    policy = {one.strip() for one in settings.get(CLEANUP_POLICY, "").split(",")}
    if policy == {"compact", "delete"}:
        return "window or session"
    if policy != {"compact"}:
        return None
    lag = settings.get(COMPACTION_LAG, "")
    is_versioned = lag.isascii() and lag.isdigit() and int(lag) > _VERSIONED_LAG_MS
    return "versioned" if is_versioned else "key-value"
