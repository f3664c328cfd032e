"""Questions that nobody wrote down: where the groups of a flow stand, on the source or on the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.admin.groups import list_groups, read_committed_or_why
from jobs.cluster.client import ClusterClient
from jobs.replication.flow.selection import group_filter_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.limits import Limits
from jobs.spark.analyses.offsets.bulk.ends import read_ends
from jobs.spark.analyses.offsets.bulk.question_rows import QUESTIONS

MOST_NAMED = 10


class GroupQuestions(NamedTuple):
    """Committed offsets, the ends of their partitions (read afterwards), and what is not known."""

    questions: pa.Table
    ends: Limits
    notes: tuple[str, ...]


def read_group_questions(
    client: ClusterClient, flow: FlowSpec, group: str | None, wants: Callable[[str], bool]
) -> GroupQuestions:
    """Return all committed offsets of the flow's groups, or of one group, on topics that are wanted.

    Raises `ClusterFault`.
    """
    notes: list[str] = []
    if group is None:
        listed, accepts = list_groups(client), group_filter_of(flow).accepts
        names = [one.group_id for one in listed.groups if accepts(one.group_id)]
        notes += [f"Groups may be missing: {error}" for error in listed.errors]
    else:
        names = [group]
    committed, errors = read_committed_or_why(client, names) if names else ({}, {})
    rows = [
        (name, *where, one.offset)
        for name in sorted(committed)
        for where, one in sorted(committed[name].items())
        if one.offset is not None and one.offset >= 0 and wants(where.topic)
    ]
    failed = sorted(errors.items())
    notes += [
        f"The offsets of group {name} could not be read: {why}" for name, why in failed[:MOST_NAMED]
    ]
    if len(failed) > MOST_NAMED:
        notes.append(f"So it is with {len(failed) - MOST_NAMED:,} more groups.")
    if not rows:
        whose = f"The group {group} has" if group else "No group of the flow has"
        notes.append(
            f"{whose} a committed offset on a topic of the flow on {client.connection.alias}."
        )
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    table = pa.table([range(1, len(rows) + 1), *columns], QUESTIONS)
    return GroupQuestions(table, read_ends(client, {row[1] for row in rows}), tuple(notes))
