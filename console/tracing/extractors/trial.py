"""Records that are read from a topic now: trying an extractor on the newest, and the one at an offset."""

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
from console.tracing.extractors.analysis_extractors import get_source
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.topic_reader import Newest, read_newest, read_record
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
_GONE = (
    "Retention or compaction removed it, its transaction was aborted or is open, or nothing was "
    "written there."
)
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
    found = _read(cluster, lambda connection: read(connection, topic))
    if found is None:
        raise InvalidFields({"topic": f"There is no topic {topic} in {cluster.alias}."})
    _audit(cluster, topic, records=len(found.records))
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


def show_record(
    cluster: Cluster,
    where: TopicPartition,
    offset: int,
    name: str,
    person: User,
    read: Callable[[Connection], Newest | None] | None = None,
) -> Sample:
    """Return the record at an offset, without what an extractor (or preset) of the cluster redacts.

    Writes to the audit log that it was read. Raises `PermissionDenied`, and `ActionRefused` also for a record
    that is not there.
    """
    require(person, "administer", cluster.pk)
    source = get_source(name)
    if source is None or {*source.clusters} - {cluster.pk}:
        text = f"{cluster.alias} has no extractor {name}: what it redacts is not known."
        raise ActionRefused("no_extractor", text)
    extractor = Extractor.from_mapping(source.resource()["extractor"])
    found = _read(cluster, read or (lambda connection: _record_of(connection, where, offset)))
    if found is None:
        raise ActionRefused("no_partition", f"There is no partition {where} in {cluster.alias}.")
    if not found.records:
        raise ActionRefused("no_record", f"{where} has no record at offset {offset}. {_GONE}")
    _audit(cluster, where.topic, partition=where.partition, offset=offset, records=1)
    record = PlainRecord(where.topic, *found.records[0])
    return sample_of(extractor, record, decode_by(extractor.registry))


def _record_of(connection: Connection, where: TopicPartition, offset: int) -> Newest | None:
    with ClusterClient(connection, timeout_s=_TIMEOUT_S) as client:
        return read_record(client, where, offset)


def _read(cluster: Cluster, read: Callable[[Connection], Newest | None]) -> Newest | None:
    try:
        return read(cluster.connection())
    except ClusterFault as fault:
        raise ActionRefused(fault.code, f"{fault.message} {fault.hint}".strip()) from None


def _audit(cluster: Cluster, topic: str, **told: int) -> None:
    audit(ACTION, topic, after={"topic": topic, **told}, cluster=cluster.alias)


def _extractor_of(definition: Mapping[str, Any]) -> Extractor:
    name = "trial"
    if definition.get("preset") or definition.get("fields"):
        return checked_extractor(name, definition)
    # Samples come first; what is to be redacted counts for them, too.
    rest = {**definition, "fields": {"step": "topic"}}
    return replace(checked_extractor(name, rest), fields={})
