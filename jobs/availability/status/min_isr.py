"""min.insync.replicas of a topic, and where the value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MinIsrOrigin(StrEnum):
    """Who sets it, in the order in which Kafka looks (`ConfigHelper`, KIP-226)."""

    TOPIC = "topic"
    # Of one broker: the value of the broker that answered.
    BROKER = "broker"
    CLUSTER = "cluster"
    STATIC = "static"
    KAFKA = "kafka"
    UNKNOWN = "unknown"


# Names of DescribeConfigs (`ConfigEntry.ConfigSource`).
_SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": MinIsrOrigin.TOPIC,
    "DYNAMIC_BROKER_CONFIG": MinIsrOrigin.BROKER,
    "DYNAMIC_DEFAULT_BROKER_CONFIG": MinIsrOrigin.CLUSTER,
    "STATIC_BROKER_CONFIG": MinIsrOrigin.STATIC,
    "DEFAULT_CONFIG": MinIsrOrigin.KAFKA,
}
# What the metadata log tells whenever it is set: the log is newer than any answer of a broker.
_IN_LOG = frozenset({MinIsrOrigin.TOPIC, MinIsrOrigin.CLUSTER})


@dataclass(frozen=True, slots=True)
class MinIsr:
    """The value in force; None when unknown."""

    value: int | None
    origin: MinIsrOrigin


NOT_KNOWN = MinIsr(None, MinIsrOrigin.UNKNOWN)


def described_min_isr(value: int | None, source: str) -> MinIsr:
    """Return the value of DescribeConfigs; `source` is Kafka's name of it, "" when unknown."""
    if value is None:
        return NOT_KNOWN
    return MinIsr(value, _SOURCES.get(source, MinIsrOrigin.UNKNOWN))


def resolve_min_isr(
    *, topic: int | None, cluster: int | None, described: MinIsr, is_log_known: bool
) -> MinIsr:
    """Return the value in force.

    `topic` and `cluster` are what the metadata log sets (None: it sets nothing); a static value of
    server.properties is not in the log (unless ELR is on, which writes it as the cluster's), so
    `described` fills in. Where the log is known, an answer of a broker that names a setting which the log no
    longer has is out of date, and then nothing is known until the next answer.
    """
    if topic is not None:
        return MinIsr(topic, MinIsrOrigin.TOPIC)
    if is_log_known and described.origin is MinIsrOrigin.BROKER:
        return described
    if cluster is not None:
        return MinIsr(cluster, MinIsrOrigin.CLUSTER)
    is_outdated = is_log_known and described.origin in _IN_LOG
    return NOT_KNOWN if is_outdated else described


def read_min_isr(text: object) -> int | None:
    """Return the number of a setting's value; None for what is none."""
    return int(text) if isinstance(text, str) and text.isdecimal() else None
