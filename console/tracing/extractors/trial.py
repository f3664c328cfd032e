"""Trying an extractor on records that are read from a topic now: what it finds, and which presets fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from console.accounts.audit import audit
from console.accounts.models import User
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.frame.security.access import require
from console.tracing.extractors.actions import checked_extractor
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.topic_reader import Newest, read_newest
from jobs.tracing.extractors.decoding import decode_by
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.plain import PlainRecord
from jobs.tracing.extractors.samples import (
    Match,
    Sample,
    header_counts,
    matching_presets,
    sample_of,
)

MOST_RECORDS = 20
BUDGET_S = 10.0
MOST_BYTES = 32 << 20
_TIMEOUT_S = 3.0
ACTION = "extractor.read_records"
# Reads records of a topic; None: it does not exist.
Read = Callable[[Connection, str], Newest | None]


@dataclass(frozen=True, slots=True)
class Trial:
    """Samples, newest first; `found` and `problems` count records by role; `headers` by name."""

    topic: str
    samples: list[Sample]
    found: dict[str, int]
    problems: list[tuple[str, str, int]]
    headers: dict[str, int]
    presets: list[Match]
    is_cut: bool


def read_from_kafka(connection: Connection, topic: str) -> Newest | None:
    """Read the newest records of a topic; raises `ClusterFault`."""
    with ClusterClient(connection, timeout_s=_TIMEOUT_S) as client:
        return read_newest(client, topic, MOST_RECORDS, budget_s=BUDGET_S, most_bytes=MOST_BYTES)


def try_extractor(
    cluster: Cluster,
    topic: str,
    definition: Mapping[str, Any],
    person: User,
    read: Read = read_from_kafka,
) -> Trial:
    """Read samples and return what a definition finds in them; one without preset and fields finds nothing.

    Writes to the audit log that records were read. Raises `InvalidFields` at `topic` and the fields of the
    definition, `PermissionDenied`, `ActionRefused`.
    """
    require(person, "administer", cluster.pk)
    extractor = _extractor_of(definition)
    if not topic:
        raise InvalidFields({"topic": "Enter the topic whose records are read."})
    try:
        found = read(cluster.connection(), topic)
    except ClusterFault as fault:
        raise ActionRefused(fault.code, f"{fault.message} {fault.hint}".strip()) from None
    if found is None:
        raise InvalidFields({"topic": f"There is no topic {topic} in {cluster.alias}."})
    told = {"topic": topic, "records": len(found.records)}
    audit(ACTION, topic, after=told, cluster=cluster.alias)
    records = [PlainRecord(topic, *record) for record in found.records]
    decode = decode_by(extractor.registry)
    samples = [sample_of(extractor, record, decode) for record in records]
    problems = Counter(item for one in samples for item in one.problems.items())
    return Trial(
        topic,
        samples,
        dict(Counter(role for one in samples for role in one.values)),
        [(role, text, count) for (role, text), count in sorted(problems.items())],
        header_counts(records),
        matching_presets(records, decode),
        found.is_cut,
    )


def _extractor_of(definition: Mapping[str, Any]) -> Extractor:
    name = "trial"
    if definition.get("preset") or definition.get("fields"):
        return checked_extractor(name, definition)
    # Samples come first; what is to be redacted counts for them, too.
    rest = {**definition, "fields": {"step": "topic"}}
    return replace(checked_extractor(name, rest), fields={})
