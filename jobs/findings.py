"""Findings: the value that rules return, and its life from round to round. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.severity import Severity

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    `code` is stable, for programs. `subject` is what it is about (a partition `orders-3`, a topic, a group
    and a partition, a node), empty for all of its scope. `evidence` are numbers and words, their units in
    their names. `since` is when it began (None: only the moment is known at which it was seen), `ended` when
    it was over (None: it is not). `trouble` and `cause` name its runbook.
    """

    code: str
    severity: Severity
    sentence: str
    todo: str = ""
    subject: str = ""
    topic: str = ""
    partition: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    ended: datetime | None = None
    brokers: tuple[int, ...] = ()
    trouble: str = ""
    cause: str = ""

    @property
    def key(self) -> Key:
        """What makes it the same finding in the next round."""
        return str(self.code), self.subject
