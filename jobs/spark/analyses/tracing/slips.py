"""`slips`: where pieces of work are that move through topics, how long each step takes, what is stuck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
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
from jobs.spark.analyses.records.ranges import CLUSTER, MOST_RECORDS, RANGE, TOPICS, check_range
from jobs.spark.analyses.tracing.outbox import IDS

if TYPE_CHECKING:
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.task import AnalysisTask

_WIDTHS_MS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the events of all topics once, then order them by slip in the driver."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.following.events import EventsRead, read_events
    from jobs.spark.analyses.tracing.following.plan import plan_slips
    from jobs.spark.analyses.tracing.following.rows import SlipRows
    from jobs.spark.analyses.tracing.planning import EVENT_OFFSETS
    from jobs.tracing.extractors.extractor import Extractor

    extractor = Extractor.from_mapping(task.resources["extractor"]["extractor"])
    options = {"extractor": extractor.to_mapping()}
    if not (arguments["topics"] or extractor.topics):
        raise InvalidFields({"topics": "The extractor has no topics: name some."})
    connections = connections_of(task, "cluster")
    # What is only shown does not change what is read.
    shown = dict.fromkeys(("slip", "ids", "bucket"))
    question = {"kind": ANALYSIS.kind, **options, **arguments, **shown}
    is_committed = arguments["isolation"] == "read_committed"
    reading = Reading(connections, is_committed, unit_offsets=EVENT_OFFSETS)
    read = EventsRead(extractor)

    def plan() -> list[Work]:
        return plan_slips(connections["cluster"], extractor, arguments)

    for one in reduce_records(task, question, reading, plan, read_events, options):
        read.add(one)
    found = SlipRows(read, extractor)
    found.fill(arguments, _WIDTHS_MS[arguments["bucket"]])
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, found.rows[table.name]))
    return Answer(found.facts, (*notes_of(read.done), *found.notes))


_TEXT, _CODE, _LIST = ColumnType.TEXT, ColumnType.CODE, ColumnType.LIST
_COUNT, _MOMENT, _MS = ColumnType.INTEGER, ColumnType.MOMENT, ColumnType.DURATION_MS
_SLIP = Column("slip", "Slip", _TEXT, "Its id, or the digest of it.")
_TYPE, _STEP = Column("type", "Type", _TEXT), Column("step", "Step", _TEXT)
_OF = (_TYPE, _STEP, Column("line", "Type and step", _TEXT))
_P50, _P95 = Column("p50_ms", "p50", _MS), Column("p95_ms", "p95", _MS)
_ENTERED = Column("entered", "Entered", _COUNT, "Slips with a record at the step.")
_WHERE = (
    Column("topic", "Topic", _TEXT),
    Column("partition", "Partition", _COUNT),
    Column("offset", "Offset", ColumnType.OFFSET),
)
_FUNNEL = (
    *_OF,
    Column("position", "Position", _COUNT, "Of the step among all steps."),
    _ENTERED,
    Column("left", "Left", _COUNT, "Of those, slips that are at another step now, or complete."),
    Column("failed", "Failed", _COUNT, "Of those, slips whose newest record is a failure there."),
    Column("waiting", "Waiting", _COUNT, "Of those, slips whose newest record is there."),
)
_DWELL = (
    *_OF,
    Column("slips", "Slips", _COUNT, "That left the step for the next one."),
    _P50,
    _P95,
    Column("p99_ms", "p99", _MS),
    Column("max_ms", "Max", _MS),
    Column("before_ms", "First half", _MS, "Median of slips that entered in the first half."),
    Column("after_ms", "Second half", _MS, "Median of slips that entered in the second half."),
    Column("factor", "Growth", ColumnType.NUMBER, "Second half/first half; from 10 slips in each."),
)
_BUCKET = Column("bucket_ms", "Time", _MOMENT)
_DWELL_OVER_TIME = (_BUCKET, *_OF, _ENTERED, _P50, _P95)
_STUCK = (
    *(_SLIP, _TYPE, _STEP),
    Column("verdict", "Verdict", _CODE, "no_group: no visible group commits on the partition."),
    Column("since_ms", "Since", _MOMENT),
    Column("age_ms", "Age", _MS),
    *_WHERE,
    Column("group", "Consumer group", _TEXT),
    Column("committed", "Committed offset", ColumnType.OFFSET),
)
_VIOLATIONS = (_SLIP, Column("what", "Violation", _CODE), _STEP, *_WHERE)
_TIMELINE = (
    Column("at_ms", "Time", _MOMENT),
    _STEP,
    *_WHERE,
    Column("dwell_ms", "Time to the next record", _MS),
    Column("what", "Event", _CODE),
    Column("violations", "Violations", _LIST),
)
_HELP_TOPICS = "Names or patterns with *, separated by commas. Default: those of the extractor."
ANALYSIS = Analysis(
    kind="slips",
    title="Routing slips",
    arguments=(
        CLUSTER,
        Argument("extractor", ArgumentType.EXTRACTOR, "Extractor", is_required=True),
        replace(TOPICS, help=_HELP_TOPICS, is_required=False),
        Argument("slip", ArgumentType.TEXT, "Slip", "Its id or digest: for its timeline."),
        Argument(
            "bucket", ArgumentType.CHOICE, "Bucket", default="hour", choices=tuple(_WIDTHS_MS)
        ),
        IDS,
        *(one for one in RANGE if one is not MOST_RECORDS),
        # All events are in the memory of the driver: 300 bytes each at most, while they are ordered.
        replace(MOST_RECORDS, default=2_000_000, most=5_000_000),
    ),
    tables=(
        Table("funnel", "Funnel", _FUNNEL),
        Table("dwell", "Dwell time", _DWELL),
        Table("dwell_over_time", "Dwell time by time", _DWELL_OVER_TIME),
        Table("stuck", "Stuck slips", _STUCK),
        Table("violations", "Violations", _VIOLATIONS),
        Table("timeline", "Timeline of a slip", _TIMELINE),
    ),
    run=run,
    charts=(
        Chart(ChartType.BARS, "funnel", "Slips by step", "line", "entered"),
        Chart(
            ChartType.LINES, "dwell_over_time", "Dwell time (p95)", "bucket_ms", "p95_ms", "line"
        ),
    ),
    checked=check_range,
    definition="A slip is all records with one id. It waits for the step of its newest record, and is "
    "complete when it is in an end topic or when all steps are done. Dwell time: from the first record at a "
    "step to the first one at the next step. Stuck: the newest record is older than the extractor "
    "allows. not_read: the group of the step has not committed past the record. read_and_lost: it has, and "
    "no later record of the slip exists; committed offsets were read before the ends of the logs. Groups "
    "that disagree, where the extractor names none, are unknown. A step is done twice when a slip comes to "
    "it again without a failure there, or has it twice in its list of steps done. Order is judged by that "
    "list only, never by clocks.",
)
