"""Which cause each open finding has: findings with one cause become one incident. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """An open finding, its scope resolved.

    `clusters` are the clusters that it concerns: one, or source and target of its flow. `cluster`, `flow`
    and `log` are the keys of its scope.
    """

    id: int
    kind: str
    code: str
    severity: Severity
    sentence: str
    todo: str
    subject: str
    topic: str
    partition: int | None
    brokers: tuple[int, ...]
    evidence: Mapping[str, Any]
    opened_at: datetime
    cluster: int | None = None
    flow: int | None = None
    log: int | None = None
    clusters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Names for sentences: aliases of clusters, names of flows and logs, flows of each cluster."""

    clusters: Mapping[int, str] = field(default_factory=dict)
    flows: Mapping[int, str] = field(default_factory=dict)
    logs: Mapping[int, str] = field(default_factory=dict)
    flows_of: Mapping[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effect:
    """How an incident counts the findings of one check that its cause explains."""

    check: str
    text: str
    findings: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause with its findings, the one that names it first.

    `key` is stable from round to round. `subject_kind` is a value of `console.findings` `Subject`.
    """

    key: str
    subject_kind: str
    subject: str
    check: str
    severity: Severity
    title: str
    sentence: str
    todo: str
    began_at: datetime
    findings: tuple[int, ...]
    effects: tuple[Effect, ...] = ()
    brokers: tuple[int, ...] = ()
    cluster: int | None = None
    flow: int | None = None
    log: int | None = None


def causes_of(findings: Iterable[OpenFinding], names: Names) -> Sequence[Cause]:
    """Return the causes of open findings, worst first; each finding has exactly one cause."""
    raise NotImplementedError
