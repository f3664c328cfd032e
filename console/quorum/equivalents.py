"""API call and command of each quorum page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

from console.clusters.equivalents import Equivalents, call_of, tool_of
from console.quorum.models import MetadataLog

# A node's __cluster_metadata-0 folder, where the reader has it.
_FOLDER = "PATH_OF_METADATA_LOG"


def of_list() -> Equivalents:
    return Equivalents("GET /api/v1/quorum/", "")


def of_quorum(log: MetadataLog) -> Equivalents:
    """Return the equivalents of the quorum's first page."""
    return Equivalents(
        f"GET /api/v1/quorum/{log.name}/", _tool(log, "describe --replication --human-readable")
    )


def of_findings(log: MetadataLog) -> Equivalents:
    return Equivalents(f"GET /api/v1/quorum/{log.name}/findings/", "")


def of_voters(log: MetadataLog) -> Equivalents:
    """Return the equivalents of the voter-set timeline."""
    return Equivalents(call_of("quorum/voter-sets", cluster=log.name), f"crosslog voters {_FOLDER}")


def of_elections(log: MetadataLog) -> Equivalents:
    return Equivalents(call_of("quorum/elections", cluster=log.name), f"crosslog voters {_FOLDER}")


def of_changes(log: MetadataLog, **filters: str) -> Equivalents:
    """Return the equivalents of a search in the log."""
    given = {name: value for name, value in filters.items() if value}
    return Equivalents(
        call_of("metadata-changes", cluster=log.name, **given), f"crosslog dump-log {_FOLDER}/*.log"
    )


def of_partition(log: MetadataLog, topic: str, partition: int | None) -> Equivalents:
    """Return the equivalents of the history of a topic or of one partition."""
    given = {"topic": topic} if topic else {}
    command = f"crosslog history {_FOLDER}"
    if topic:
        command += f" --topic {shlex.quote(topic)}"
    if partition is not None:
        given["partition"] = str(partition)
        command += f" --partition {partition}"
    return Equivalents(call_of("partition-changes", cluster=log.name, **given), command)


def of_state(log: MetadataLog, offset: int | None, kind: str) -> Equivalents:
    given = {"offset": str(offset)} if offset is not None else {}
    command = f"crosslog state {_FOLDER}" + (f" --offset {offset}" if offset is not None else "")
    query = urlencode({**given, "kind": kind})
    return Equivalents(f"GET /api/v1/quorum/{log.name}/state/?{query}", command)


def of_difference(log: MetadataLog, before: int, after: int, kind: str = "") -> Equivalents:
    """Return the equivalents of the difference of two moments."""
    query = urlencode(
        {"from_offset": before, "to_offset": after} | ({"kind": kind} if kind else {})
    )
    return Equivalents(f"GET /api/v1/quorum/{log.name}/diff/?{query}", "")


def of_record(log: MetadataLog, offset: int) -> Equivalents:
    """Return the equivalents of a raw record."""
    return Equivalents(
        f"GET /api/v1/quorum/{log.name}/records/?offset={offset}",
        f"crosslog dump-log {_FOLDER}/*.log",
    )


def of_advice(log: MetadataLog, asked: Mapping[str, str]) -> Equivalents:
    """Return the equivalents of a plan to other voters."""
    given = {name: value for name, value in asked.items() if value}
    query = f"?{urlencode(given)}" if given else ""
    return Equivalents(f"GET /api/v1/quorum/{log.name}/advice/{query}", "")


def _tool(log: MetadataLog, rest: str) -> str:
    """Return a command; a log that was imported has no cluster to ask."""
    return tool_of("kafka-metadata-quorum.sh", log.cluster, rest) if log.cluster else ""
