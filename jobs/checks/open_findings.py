"""Open findings, and the causes that incidents are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.severity import Severity

# The checks whose findings explain others.
BROKER_DOWN, UNREACHABLE = "broker_down", "cluster_unreachable"


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """An open finding, its scope resolved.

    `clusters` are the clusters that it concerns: one, or source and target of its flow. `cluster`, `flow`
    and `log` are the keys of its scope. `incident` is the key of the open incident that has it.
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
    incident: str = ""


@dataclass(frozen=True, slots=True)
class Recovering:
    """A cause that is over while its incident is open: what it explained may last a while longer."""

    key: str
    cluster: int
    broker: int | None = None


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

    `key` is stable from round to round. `subject_kind` is a value of `console.findings` `Subject`. Of a cause
    that `is_over`, with findings left, `sentence` has only what remains.
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
    is_over: bool = False
