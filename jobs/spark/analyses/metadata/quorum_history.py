"""Voter sets and elections over any time, and who the voters were at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.quorum.history.change_json import iso
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
from jobs.spark.analyses.metadata.window import (
    WINDOW,
    Arguments,
    Sql,
    check_window,
    on_history,
    window_of,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.task import AnalysisTask

# A set without a time (bootstrap, snapshot) held before the first record.
_SET_AT = """
SELECT * FROM voter_sets WHERE timestamp_ms IS NULL OR timestamp_ms <= :at_ms
ORDER BY offset DESC LIMIT 1
"""
_LEADER_AT = """
SELECT leader_id FROM elections WHERE timestamp_ms <= :at_ms ORDER BY offset DESC LIMIT 1
"""
_VOTERS_AT = f"""
SELECT voter.voter_ids AS voter_id, voter.voters AS voter, set_.offset, set_.timestamp_ms, set_.source,
       set_.is_static,
       COALESCE(voter.voter_ids = (SELECT MAX(leader_id) FROM ({_LEADER_AT})), false) AS is_leader
FROM ({_SET_AT}) AS set_ LATERAL VIEW explode(arrays_zip(voter_ids, voters)) AS voter
ORDER BY voter_id
"""  # noqa: S608  only constants of this file
_VOTER_SETS = """
SELECT * FROM voter_sets
WHERE timestamp_ms IS NULL OR (timestamp_ms >= :since_ms AND timestamp_ms < :before_ms)
ORDER BY offset
"""
# Leaders that were in office at some time of the window.
_ELECTIONS = """
SELECT *, GREATEST(ended_ms - timestamp_ms, 0) AS duration_ms FROM elections
WHERE timestamp_ms < :before_ms AND COALESCE(ended_ms, timestamp_ms) >= :since_ms
ORDER BY offset
"""
_FACTS = """
SELECT COUNT(*) AS elections, COUNT(DISTINCT leader_id) AS leaders,
       MAX(gap_ms) AS longest_gap_ms, COALESCE(SUM(skipped_epochs), 0) AS epochs_without_leader,
       (SELECT COUNT(*) FROM voter_sets
        WHERE timestamp_ms >= :since_ms AND timestamp_ms < :before_ms) AS voter_set_changes
FROM elections WHERE timestamp_ms >= :since_ms AND timestamp_ms < :before_ms
"""
_VOTERS_FACT = f"""
SELECT (SELECT MAX(voters) FROM ({_SET_AT})) AS voters, (SELECT MAX(leader_id) FROM ({_LEADER_AT})) AS leader
"""  # noqa: S608  only constants of this file


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """Tell voters and elections from the views of a log."""
    window = window_of(arguments, history)
    at_ms = window.to_ms if arguments["at"] is None else arguments["at"]
    sql = Sql(task, ANALYSIS, {**window.args, "at_ms": at_ms})
    sql.write("voters_at", _VOTERS_AT)
    sql.write("voter_sets", _VOTER_SETS)
    sql.write("elections", _ELECTIONS)
    then = sql.row(_VOTERS_FACT)
    facts = {
        **window.facts,
        "at": iso(at_ms),
        "voters_at": then["voters"],
        "leader_at": then["leader"],
        **sql.row(_FACTS),
    }
    notes = [*window.notes, *sql.notes]
    if then["voters"] is None:
        notes.append(f"The voters at {iso(at_ms)} are not known: the log names none up to then.")
    return Answer(facts, tuple(notes))


_OFFSET = Column("offset", "Offset", ColumnType.OFFSET)
_EPOCH = Column("epoch", "Epoch", ColumnType.INTEGER)
_SOURCE = Column(
    "source",
    "Source",
    ColumnType.CODE,
    "Log: a VotersRecord. Snapshot, bootstrap: a checkpoint. Leader change: the voters of an election.",
)
_IS_STATIC = Column(
    "is_static", "Static quorum", ColumnType.BOOLEAN, "kraft.version 0: controller.quorum.voters."
)
ANALYSIS = Analysis(
    kind="quorum-history",
    title="Quorum history",
    arguments=(
        *WINDOW,
        Argument("at", ArgumentType.MOMENT, "Voters at", "UTC. Default: the end of the window."),
    ),
    tables=(
        Table(
            "voters_at",
            "Voters at the moment",
            (
                Column("voter_id", "Voter", ColumnType.INTEGER),
                Column("voter", "Voter and directory", ColumnType.TEXT),
                Column(
                    "is_leader",
                    "Leader",
                    ColumnType.BOOLEAN,
                    "Leader of the last election up to then.",
                ),
                Column("timestamp_ms", "Voter set since", ColumnType.MOMENT),
                _OFFSET,
                _SOURCE,
                _IS_STATIC,
            ),
        ),
        Table(
            "voter_sets",
            "Voter sets",
            (
                Column("timestamp_ms", "Time", ColumnType.MOMENT),
                _OFFSET,
                _EPOCH,
                Column("voters", "Voters", ColumnType.LIST),
                Column("added", "Added", ColumnType.LIST),
                Column("removed", "Removed", ColumnType.LIST),
                _SOURCE,
                _IS_STATIC,
                Column(
                    "is_after_gap",
                    "After a gap",
                    ColumnType.BOOLEAN,
                    "Records before it are missing: there may have been other voters in between.",
                ),
            ),
        ),
        Table(
            "elections",
            "Leader epochs",
            (
                Column("timestamp_ms", "Elected", ColumnType.MOMENT),
                Column("ended_ms", "Last record", ColumnType.MOMENT, "Of the leader's epoch."),
                Column("duration_ms", "Duration", ColumnType.DURATION_MS),
                _EPOCH,
                Column("leader_id", "Leader", ColumnType.INTEGER),
                Column("previous_leader_id", "Leader before", ColumnType.INTEGER),
                Column(
                    "gap_ms",
                    "Gap",
                    ColumnType.DURATION_MS,
                    "From the record before to the election.",
                ),
                Column(
                    "skipped_epochs",
                    "Skipped epochs",
                    ColumnType.INTEGER,
                    "Elections without a winner.",
                ),
                Column("voter_ids", "Voters", ColumnType.LIST),
                Column("granting_ids", "Votes from", ColumnType.LIST),
                _OFFSET,
            ),
        ),
    ),
    run=on_history(answer),
    charts=(
        Chart(
            ChartType.LANES,
            "elections",
            "Epochs by leader",
            "timestamp_ms",
            "epoch",
            "leader_id",
            "ended_ms",
        ),
    ),
    definition=(
        "The voters at a moment are those of the last voter set written up to then. Elections are the"
        " LeaderChange records of the log; an election counts in the window when its record is in it."
    ),
    checked=check_window,
)
