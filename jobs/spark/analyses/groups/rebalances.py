"""`rebalances`: what happened to consumer groups and Streams applications, from `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import ClusterFault, InvalidFields, NotAuthorized
from jobs.patterns.java import NotEvaluated
from jobs.patterns.matching import glob_expression
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import CLUSTER, FROM, MOST_RECORDS, TO, check_range

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.task import AnalysisTask

TOPIC = "__consumer_offsets"
# Rows of a table.
MOST = 10_000
_WHOLE = {"from": None, "from_offset": None, "to_offset": None, "isolation": "read_uncommitted"}
Rows = list[dict[str, Any]]


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read all partitions that have chosen groups, from the beginning: who is a member is known then."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.groups.reading import COUNTED, reduce_groups
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records

    connections = connections_of(task, "cluster")
    names, globs = _chosen(arguments["group"])
    options = {"names": names, "globs": globs, "from_ms": arguments["from"] or 0, "most": MOST}
    reading = Reading(connections, read_committed=False)
    question = {"kind": ANALYSIS.kind, **arguments}
    tables: dict[str, Rows] = {name: [] for name in ("partitions", *_TABLES)}
    done = []
    works = lambda: works_of(connections["cluster"], arguments)  # noqa: E731
    for one in reduce_records(task, question, reading, works, reduce_groups, options):
        done.append(one._replace(tables={}))
        for name, found in one.tables.items():
            tables[name] += found.to_pylist()
        for name in ("rebalances", "moves"):
            tables[name] = _newest(tables[name])
    _name_topics(connections["cluster"], tables["moves"])
    counts = {name: sum(row[name] for row in tables["partitions"]) for name in COUNTED}
    facts = _facts(tables, counts)
    notes = (*notes_of(done), *_notes(tables, counts))
    tables["groups"] = sorted(tables["groups"], key=lambda row: -row["rebalances"])[:MOST]
    clients = sorted(tables["members"], key=lambda row: (-row["is_flapping"], -row["leaves"]))
    tables["members"] = clients[:MOST]
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, tables[table.name]))
    return Answer(facts, notes)


def works_of(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    """Return a work for each partition: the records of a group are in one, in their order."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import Work, newest, spans_of, topics_named
    from jobs.wire.topics.group_epochs import offsets_partition

    names, globs = _chosen(arguments["group"])
    try:
        with ClusterClient(connection, timeout_s=30) as client:
            topics = topics_named(client, TOPIC, "cluster")
            spans = spans_of(client, topics, {**_WHOLE, "to": arguments["to"]})
    except ClusterFault as fault:
        # A topic that may not be described has its error as a text only.
        if not isinstance(fault, NotAuthorized) and "AUTHORIZATION_FAILED" not in fault.message:
            raise
        text = f"The records of {TOPIC} may not be read: {fault.message}"
        hint = f"It needs READ and DESCRIBE on {TOPIC}. Managed services often forbid that."
        raise NotAuthorized(text, cluster=fault.cluster, hint=hint) from None
    if names is not None and not globs:
        wanted = {offsets_partition(one, len(spans)) for one in names}
        spans = [one for one in spans if one.partition in wanted]
    return [Work((span,)) for span in newest(spans, arguments["most_records"])]


def _chosen(text: str | None) -> tuple[list[str] | None, list[str]]:
    """Return names (None: all groups) and globs; a text with a comma may be one name, too."""
    if text is None:
        return None, []
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [text, *parts], [one for one in parts if any(sign in one for sign in "*?[")]


def _checked(arguments: Mapping[str, Any]) -> None:
    check_range({"from_offset": None, "to_offset": None, **arguments})
    try:
        for one in _chosen(arguments["group"])[1]:
            glob_expression(one)
    except NotEvaluated as error:
        raise InvalidFields({"group": str(error)}) from None


def _newest(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (-row["at_ms"], row["group"], -row["generation"]))[:MOST]


def _name_topics(connection: Connection, moves: Rows) -> None:
    """Write names for topic ids, which groups of the consumer protocol have; a deleted topic keeps its id."""
    from jobs.cluster.admin.topics import describe_topics
    from jobs.cluster.client import ClusterClient

    found = [row for row in moves if row["protocol"] == "consumer"]
    if found:
        with ClusterClient(connection, timeout_s=30) as client:
            names = {one.topic_id: one.name for one in describe_topics(client)}
        for row in found:
            topic, _, number = row["unit"].rpartition("-")
            row["unit"] = f"{names.get(topic, topic)}-{number}"


def _facts(tables: Mapping[str, Rows], counts: Mapping[str, int]) -> dict[str, Any]:
    groups = tables["groups"]
    most = max(groups, key=lambda row: row["rebalances"], default=None)
    lasted = (row["longest_ms"] for row in groups if row["longest_ms"] is not None)
    return {
        "groups": len(groups),
        "rebalances": counts["rebalances"],
        "most_rebalances_group": most and most["group"],
        "most_rebalances": most and most["rebalances"],
        "flapping_clients": sum(row["is_flapping"] for row in tables["members"]),
        "longest_ms": max(lasted, default=None),
    }


def _notes(tables: Mapping[str, Sequence[Any]], counts: Mapping[str, int]) -> Iterator[str]:
    removed = sum(row["removed"] > 0 for row in tables["partitions"])
    if removed:
        yield (
            f"Compaction removed records of {removed:,} partitions: earlier rebalances may be missing, and "
            "groups that were deleted."
        )
    for name in ("rebalances", "moves"):
        if counts[name] > len(tables[name]):
            yield f"Table {name}: the newest {len(tables[name]):,} of {counts[name]:,} rows."
    for name in ("groups", "members"):
        if len(tables[name]) > MOST:
            yield f"Table {name}: the first {MOST:,} of {len(tables[name]):,} rows."
    if counts["undecodable"]:
        yield f"{counts['undecodable']:,} records of groups cannot be read: what they say is missing."
    if counts["groups_left_out"] + counts["clients_left_out"]:
        yield (
            f"Beyond the limits: {counts['groups_left_out']:,} records of further groups and "
            f"{counts['clients_left_out']:,} mentions of further clients are left out."
        )


_TABLES = ("groups", "rebalances", "moves", "members")
_COUNT, _CODE, _TEXT, _LIST = ColumnType.INTEGER, ColumnType.CODE, ColumnType.TEXT, ColumnType.LIST
_AT, _LENGTH = ColumnType.MOMENT, ColumnType.DURATION_MS
_GROUP = Column("group", "Group", _TEXT)
_GENERATION = Column("generation", "Generation", _COUNT, "Epoch of the group for newer protocols.")
_PROTOCOL = Column("protocol", "Protocol", _CODE, "Classic, consumer or streams.")
_MISSED = (
    "Generations before the row that the log no longer has: the row counts their changes, too."
)
_REASON = (
    "As far as the records say: members that joined or left, or changed what they want. Planned: the same "
    "members of Kafka Streams had announced a rebalance. Same members: something else, as partitions or "
    "settings. Not known: generations are missing before."
)
_DURATION = "Until all members had reached the epoch. Classic groups write no begin: not known."


ANALYSIS = Analysis(
    kind="rebalances",
    title="Rebalances",
    arguments=(
        CLUSTER,
        Argument(
            "group",
            ArgumentType.TEXT,
            "Groups",
            "Names or patterns with *, separated by commas. Default: all. An application ID is a group.",
        ),
        FROM,
        TO,
        MOST_RECORDS,
    ),
    tables=(
        Table(
            "groups",
            "Groups",
            (
                _GROUP,
                _PROTOCOL,
                Column("rebalances", "Rebalances", _COUNT),
                Column("members_now", "Members", _COUNT, "After the last rebalance."),
                Column("joins", "Joins", _COUNT),
                Column("leaves", "Leaves", _COUNT),
                Column("moves", "Moves", _COUNT),
                Column("missed", "Missing generations", _COUNT),
                Column("longest_ms", "Longest rebalance", _LENGTH, _DURATION),
                Column("first_ms", "First rebalance", _AT),
                Column("last_ms", "Last rebalance", _AT),
                Column("deleted_ms", "Deleted", _AT),
            ),
        ),
        Table(
            "rebalances",
            "Rebalances",
            (
                _GROUP,
                Column("at_ms", "Completed or begun", _AT, "Classic: completed. Else: begun."),
                _PROTOCOL,
                _GENERATION,
                Column("reason", "Reason", _CODE, _REASON),
                Column("members", "Members", _COUNT),
                Column("joined", "Joined", _COUNT),
                Column("left", "Left", _COUNT),
                Column("moved", "Moved", _COUNT, "Changes of table Moves."),
                Column("missed", "Missing generations", _COUNT, _MISSED),
                Column("duration_ms", "Duration", _LENGTH, _DURATION),
                Column("joined_members", "Joined members", _LIST, "At most 20."),
                Column("left_members", "Left members", _LIST, "At most 20."),
            ),
        ),
        Table(
            "moves",
            "Moves",
            (
                _GROUP,
                Column("at_ms", "Rebalance", _AT),
                _GENERATION,
                Column("unit", "Partition or task", _TEXT),
                Column("role", "Role", _CODE),
                Column("from", "From", _TEXT, "Member that no longer has it."),
                Column("to", "To", _TEXT, "Member that has it now."),
            ),
        ),
        Table(
            "members",
            "Clients",
            (
                _GROUP,
                Column("client_id", "Client ID", _TEXT, "* for a UUID."),
                Column("instance_id", "Instance ID", _TEXT),
                Column("host", "Host", _TEXT),
                Column("joins", "Joins", _COUNT),
                Column("leaves", "Leaves", _COUNT),
                Column("first_ms", "First seen", _AT),
                Column("last_ms", "Last seen", _AT),
                Column(
                    "is_flapping",
                    "Flapping",
                    ColumnType.BOOLEAN,
                    "It came back in at least 3 rebalances within an hour.",
                ),
            ),
        ),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "groups", "Rebalances by group", "group", "rebalances"),),
    definition="Classic groups write one record for each completed rebalance; how long it took is not "
    "written. Groups of the consumer and streams protocols write each epoch and what each member has: a "
    "rebalance lasts from a new epoch until all members have reached it. The topic is compacted: it has the "
    "last record of each group and member, and earlier ones until the log cleaner removes them. Records are "
    "read from the beginning of the log, also where From is later. Counts are null where the state before "
    "is not known.",
    checked=_checked,
)
