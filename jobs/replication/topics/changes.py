"""What is done to remote topics, and what a person should know about it, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARTITIONS = "partitions"
ACL = "acl"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One change of a remote topic, done or to be done.

    `key` is the name of a setting, `partitions` or `acl`; `before` and `after` are None for what was
    not there and for what is deleted.
    """

    topic: str
    key: str
    before: str | None
    after: str | None
    why: str

    def __str__(self) -> str:
        return (
            f"{self.topic} {self.key}: {_shown(self.before)} -> {_shown(self.after)} ({self.why})"
        )

    def to_mapping(self) -> dict[str, str | None]:
        """Return JSON values."""
        return {
            "topic": self.topic,
            "key": self.key,
            "from": self.before,
            "to": self.after,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class TopicNote:
    """A sentence about a remote topic; about the flow as a whole when `topic` is empty."""

    topic: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.topic} {self.key}: {self.text}" if self.topic else self.text

    def to_mapping(self) -> Mapping[str, str]:
        """Return JSON values."""
        return {"topic": self.topic, "key": self.key, "text": self.text}


def _shown(value: str | None) -> str:
    return "nothing" if value is None else value or '""'
