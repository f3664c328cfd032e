"""What `slips` reads: committed offsets first, then topics up to their ends, all of one moment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jobs.cluster.admin.groups import list_groups, read_committed_or_why
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.spark.analyses.records.ranges import Work, topics_named
from jobs.spark.analyses.tracing.planning import whole_works
from jobs.tracing.extractors.extractor import Extractor

# What commits offsets for records that it reads; of shares and Connect there are none.
_COMMITTING = ("consumer", "streams", "")


def plan_slips(
    connection: Connection, extractor: Extractor, arguments: Mapping[str, Any]
) -> list[Work]:
    """Return the works; the extra of the first one also has `topics` and what `_committed` returns."""
    with ClusterClient(connection, timeout_s=30) as client:
        named = topics_named(client, arguments["topics"] or extractor.topics)
        topics = [one for one in named if one.name != extractor.lookup_topic]
        if not topics:
            raise InvalidFields({"topics": "Only the lookup topic matches."})
        names = [one.name for one in topics]
        known = {"topics": names, **_committed(client, extractor, set(names))}
        at_ms = time.time_ns() // 1_000_000
        works = whole_works(client, topics, arguments, at_ms=at_ms)
        if extractor.lookup_topic:
            found = topics_named(client, extractor.lookup_topic, "extractor")
            whole = dict.fromkeys(("from", "to", "from_offset", "to_offset"))
            works += whole_works(client, found, {**arguments, **whole}, at_ms=at_ms)
    return [replace(works[0], extra={**works[0].extra, **known}), *works[1:]]


def _committed(client: ClusterClient, extractor: Extractor, topics: set[str]) -> dict[str, Any]:
    """Return `committed`, offsets by partition and group (None: they could not be read).

    `fault` says why not all groups are known, `faults` names groups that could not be read.
    """
    try:
        listed = list_groups(client, every_type=True)
        groups = {
            one.group_id
            for one in listed.groups
            if one.protocol in _COMMITTING and one.type != "share"
        }
        read = read_committed_or_why(client, sorted(groups | set(extractor.groups.values())))
    except ClusterFault as fault:
        return {"committed": None, "fault": fault.message, "faults": []}
    found: dict[str, dict[str, int | None]] = {}
    for group, offsets in read.committed.items():
        for where, one in offsets.items():
            if where.topic in topics:
                found.setdefault(str(where), {})[group] = one.offset
    return {
        "committed": found,
        "fault": next(iter(listed.errors), ""),
        "faults": list(read.errors),
    }
