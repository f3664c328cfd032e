"""Context of an analysis page: progress while it runs, then facts, charts and tables; groups of kinds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console.clusters.equivalents import Equivalents
from console.frame.errors import ActionRefused
from console.frame.pages.addresses import address_of
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import can
from console.runs import queries
from console.runs.analyses import sources
from console.runs.analyses.drawings import charts
from console.runs.analyses.drawings.shapes import Drawing
from console.runs.analyses.questions import labelled_arguments, written_arguments
from console.runs.analyses.queue import queue_position
from console.runs.analyses.results import (
    AnswerTable,
    RecordContent,
    check_reader,
    has_answer,
    kept_until,
    tables_in,
)
from console.runs.analyses.values import NUMERIC, Cell, body_of, cell_of, facts_of, read_moment
from console.runs.models import Run, RunState
from jobs.numbers import format_count, format_span_s, read_whole
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType, Column, ColumnType
from jobs.spark.analyses.kinds import ANALYSES

_MOST_PAGE = 10**7


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A page of rows of a table; `problem` says why these rows cannot be shown."""

    answer: AnswerTable
    number: int
    pages: int
    body: list[list[Cell]]
    problem: str = ""

    @property
    def heads(self) -> list[tuple[str, str, bool]]:
        """Title, definition and whether it is a number, of each column."""
        columns = self.answer.table.columns
        return [(one.title, one.definition, one.type in NUMERIC) for one in columns]

    @property
    def summary(self) -> str:
        """Which rows of how many."""
        first = (self.number - 1) * self.answer.rows_per_page + 1
        if not self.body:
            return f"0 of {format_count(self.answer.rows)}"
        last = first + len(self.body) - 1
        span = f"{format_count(first)}\N{EN DASH}{format_count(last)}"
        return f"{span} of {format_count(self.answer.rows)}"

    @property
    def previous_query(self) -> str:
        """The query of the page before."""
        return self._query(self.number - 1) if self.number > 1 else ""

    @property
    def next_query(self) -> str:
        """The query of the page after."""
        return self._query(self.number + 1) if self.number < self.pages else ""

    def _query(self, number: int) -> str:
        name = self.answer.table.name
        return f"?{urlencode({f'{name}.page': number})}#table-{name}"


def around_answer(
    request: HttpRequest, run: Run, analyses: Mapping[str, Analysis] = ANALYSES
) -> dict[str, Any]:
    """Return the context of the page of an analysis."""
    analysis = analyses.get(run.kind)
    document = dict(run.summary or {}) if has_answer(run) else {}
    context: dict[str, Any] = {
        "run": run,
        "question": document.get("question") or (analysis.question if analysis else run.title),
        "definition": document.get("definition") or (analysis.definition if analysis else ""),
        "arguments": _shown_arguments(run, analyses),
        "position": queue_position(run),
        "kept_until": kept_until(run),
        "equivalents": _equivalents(run, analyses),
        **_links(run, analyses),
    }
    if run.is_live:
        return context | {"progress": _progress(run)}
    if not document:
        return context | {"log": queries.read_log(run)}
    try:
        check_reader(run, request.user)
    except RecordContent as refusal:
        return context | {"withheld": str(refusal)}
    tables = tables_in(run)
    source = _record_source(run, request.user)
    return context | {
        "facts": facts_of(document["facts"], _columns(tables)),
        "notes": document["notes"],
        "took": format_span_s(document["seconds"]),
        "drawings": _drawings(request, analysis, tables),
        "tables": [_shown(request, one, source) for one in tables.values()],
    }


def _columns(tables: Mapping[str, AnswerTable]) -> Iterator[Column]:
    for answer in tables.values():
        yield from answer.table.columns


def ask_again_query(run: Run, analyses: Mapping[str, Analysis] = ANALYSES) -> str:
    """Return the query that fills in the form with what a run asked."""
    given = written_arguments(run.kind, run.arguments, analyses)
    return urlencode({name: value for name, value in given.items() if value is not None})


def _record_source(run: Run, user: Any) -> tuple[str, str] | None:
    """Return the cluster and the extractor of a run, for links to records; None: no link for this person."""
    cluster, extractor = (run.arguments.get(name) for name in ("cluster", "extractor"))
    if not cluster or not extractor or not can(user, "administer", *queries.where(run.pk)):
        return None
    return cluster, extractor


def _shown(request: HttpRequest, answer: AnswerTable, source: tuple[str, str] | None) -> ShownTable:
    size = answer.rows_per_page
    pages = max(1, -(-answer.rows // size))
    asked = read_whole(request.GET.get(f"{answer.table.name}.page", ""), _MOST_PAGE) or 1
    number = min(max(asked, 1), pages)
    try:
        rows = answer.read((number - 1) * size, size)
    except ActionRefused as refusal:
        return ShownTable(answer, number, pages, [], refusal.message)
    columns = answer.table.columns
    body = body_of(columns, rows)
    if source is not None:
        _link_records(columns, rows, body, *source)
    return ShownTable(answer, number, pages, body)


def _link_records(
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Any]],
    body: list[list[Cell]],
    cluster: str,
    extractor: str,
) -> None:
    """Let offsets lead to their records, where the topic and the partition are columns, too."""
    names = {one.name for one in columns}
    query = urlencode({"extractor": extractor})
    for at, column in enumerate(columns):
        prefix = column.name.removesuffix("offset")
        place = [f"{prefix}{part}" for part in ("topic", "partition", "offset")]
        if column.name != place[-1] or not names.issuperset(place):
            continue
        for row, cells in zip(rows, body, strict=True):
            topic, partition, offset = (row[name] for name in place)
            is_place = topic and None not in (partition, offset)
            if is_place and min(partition, offset) >= 0:
                # A topic that a header names may be any text.
                href = address_of("tracing:record", cluster, topic, partition, offset)
                cells[at] = replace(cells[at], href=f"{href}?{query}")


def _drawings(
    request: HttpRequest, analysis: Analysis | None, tables: Mapping[str, AnswerTable]
) -> list[Drawing]:
    """Draw the charts of a kind; of an answer whose files are gone, from the first rows."""
    asked = "from" in request.GET or "to" in request.GET
    found = TimeRange.from_query(request.GET, timezone.now()) if asked else None
    time_range = found if found is not None and not found.problem else None
    drawings = []
    for number, chart in enumerate(analysis.charts if analysis else (), start=1):
        answer = tables.get(chart.table)
        names = {one.name for one in answer.table.columns} if answer else set()
        wanted = {name for name in (chart.x, chart.value, chart.y, chart.x_end) if name}
        # An answer of an earlier release may have had other columns.
        if answer is not None and answer.rows and wanted <= names:
            rows = (
                answer.read(limit=charts.MOST_ROWS)
                if answer.has_files
                else answer.preview[: charts.MOST_ROWS]
            )
            drawings.append(
                charts.draw(chart, number, answer.table, rows, time_range, of=answer.rows)
            )
    return drawings


def _progress(run: Run) -> dict[str, Any]:
    told = run.progress or {}
    done, total, eta_s = told.get("done"), told.get("total"), told.get("eta_s")
    message = told.get("message") or ("Starts" if run.state == RunState.RUNNING else "")
    of = f" of {format_count(total)}" if total else ""
    count = f"{format_count(done)}{of} {told.get('unit', '')}".rstrip() if done is not None else ""
    left = f"about {format_span_s(eta_s)} left" if eta_s is not None else ""
    return {"message": message, "done": done, "total": total, "count": count, "left": left}


def _shown_arguments(run: Run, analyses: Mapping[str, Analysis]) -> list[tuple[str, Cell]]:
    labelled = labelled_arguments(run.kind, run.arguments, analyses)
    return [
        (label, cell_of(value, ColumnType.MOMENT if read_moment(value) else ColumnType.TEXT))
        for label, value in labelled
    ]


def _links(run: Run, analyses: Mapping[str, Analysis]) -> dict[str, str]:
    """Return the addresses to run the analysis again or schedule it; none without its kind."""
    if run.kind not in analyses or analyses[run.kind].is_action:
        return {}
    form = reverse("runs:new-analysis", args=[run.kind])
    return {
        "again_href": f"{form}?{ask_again_query(run, analyses)}",
        "schedule_href": f"{reverse('schedules:new')}?{_schedule_query(run, analyses)}",
    }


def _schedule_query(run: Run, analyses: Mapping[str, Analysis]) -> str:
    question = {"kind": run.kind, "arguments": written_arguments(run.kind, run.arguments, analyses)}
    text = json.dumps(question, separators=(",", ":"))
    return urlencode({"kind": "analysis", "arguments": text, "title": run.title})


def _equivalents(run: Run, analyses: Mapping[str, Analysis]) -> Equivalents:
    call = f"GET /api/v1/runs/{run.pk}/" + ("result/" if has_answer(run) else "")
    analysis = analyses.get(run.kind)
    return Equivalents(call, _command(run, analysis, analyses) if analysis else "")


def _command(run: Run, analysis: Analysis, analyses: Mapping[str, Analysis]) -> str:
    """Return the command that answers the same in a shell; paths are the reader's: words in capitals."""
    words = ["crosslog", analysis.command or run.kind]
    given = written_arguments(run.kind, run.arguments, analyses)
    for argument in analysis.arguments:
        value = given.get(argument.name)
        if value is not None:
            words += _option(argument, str(value), is_first=argument == analysis.positional)
    return shlex.join(words)


def _option(argument: Argument, value: str, *, is_first: bool) -> list[str]:
    """Return how an argument is written in a shell."""
    option = f"--{argument.name.replace('_', '-')}"
    if argument.type is ArgumentType.FILE:
        value = f"PATH_OF_{argument.name.upper()}"
    elif argument.type is ArgumentType.LOG:
        value = "PATH_OF_METADATA_LOG"
    elif argument.type in sources.NOUNS:
        value = f"{value}.yaml"
        if is_first and argument.type is ArgumentType.FLOW:
            return [value, *(["--archive", "PATH_OF_OFFSET_SYNCS"] if argument.has_archive else [])]
    return [option, value]


# Kinds of analyses by the data that they read.


@dataclass(frozen=True, slots=True)
class Group:
    """A group; `terms` are words that its analyses use, each with a definition."""

    id: str
    title: str
    note: str
    terms: Mapping[str, str] = field(default_factory=dict)


_SYNC = {
    "Offset sync": "A pair of source and target offset of a partition. crosslog and MirrorMaker 2 write "
    "one to a topic from time to time, and consumer group offsets are translated by it.",
}
_CERTIFICATE = {
    "Certificate": "The lowest and the highest target offset that offset syncs prove for a source offset. "
    "Both are equal where the translation is exact.",
}
_BACKTEST = {
    "Backtest": "A check of past translations: each is compared with the target offset at which the record "
    "really was.",
}
METADATA = Group("metadata-log", "Metadata log", "reads the archived metadata log of a cluster")
OFFSETS = Group("offsets", "Offsets", "reads archived offset syncs", _SYNC | _CERTIFICATE)
_KEYS = {
    "Hot key": "A key with so many records that its partition has more load than the others.",
    "Partitioner": "The function of a producer that chooses the partition of a record from its key.",
    "Claim check": "A large value is kept outside of Kafka; its record has a reference to it.",
    "Change point": "The moment at which the level of a series changes.",
}
RECORDS = Group(
    "records",
    "Records",
    "reads the records of topics",
    _CERTIFICATE | _BACKTEST | _KEYS,
)
_EVENT = {
    "Routing slip": "The steps of a piece of work; each service checks off the step that it did.",
    "Outbox": "A table to which a service writes events in the transaction of its data.",
    "Dead letter": "A record that could not be processed, in a topic of its own.",
}
EVENTS = Group(
    "event-tracing",
    "Event tracing",
    "follows events through topics by an extractor",
    _EVENT | {"Claim check": _KEYS["Claim check"]},
)
_TRACED = {"slips", "outbox", "claim-checks", "dead-letters", "replay-plan"}
_OF_EVENTS = _TRACED | {"redrive", "tiered-reach"}
_PACED = {"topic-profile", "key-skew", "copy-audit", "store-at", "rebalances"} | _TRACED
_OF_RECORDS = (_PACED - _TRACED) | {"refine", "backtest"}
_SENTENCES = {
    "before-a-moment": "All metadata changes in the minutes before a moment, by cause and by minute.",
    "quorum-history": "Voter sets, leaders and elections over time, and the voters at one moment.",
    "time-without-controller": "Periods without an active controller, and their share of the time.",
    "partition-availability": "Time that partitions had no leader or were under min ISR, by topic and month.",
    "isr-churn": "ISR shrinks and expands by broker, rack, topic or cause, hour by hour.",
    "slowest-shrinks": "The longest times that replicas were out of the ISR, and what they have in common.",
    "unclean-elections": "Unclean leader elections: partition, time, new leader, brokers of the ISR before.",
    "config-changes": "Config changes, and the ISR shrinks and leader changes that followed.",
    "metadata-history": "Every change of the metadata log with offset, time and cause.",
    "metadata-records": "Number of records in the metadata log by type.",
    "translate": "The target offset of each source offset, or the reverse, from offset syncs.",
    "refine": "Exact target offsets where offset syncs leave a range, from the records themselves.",
    "backtest": "Records that past failovers would have skipped or repeated, per flow, topic and day.",
    "topic-profile": "Rate, sizes, compression and timestamps of records by topic and hour; change points.",
    "key-skew": "Hot keys, skew of partitions, and the partitioner that the producers use.",
    "copy-audit": "Missing, extra, duplicated, reordered and altered records of a copy, with offsets.",
    "store-at": "The value of a key, or the size of a Kafka Streams store, at a moment or offset.",
    "rebalances": "Rebalances of consumer groups and Kafka Streams: members, moves, flapping clients.",
    "dead-letters": "Records that services could not process, by step and exception.",
    "replay-plan": "Dead letters that can be sent again: source, target, order and duplicates.",
    "slips": "Routing slips: funnel and dwell time by step, stuck slips, violations, one timeline.",
    "outbox": "Delays from commit to topic, duplicates, gaps, and transactions that are not whole.",
    "claim-checks": "Pointers without object, objects without pointer, and large inline records.",
    "tiered-reach": "Local and remote part of topics, copy lag, reach of a replay, and cold readers.",
    "backfill": "The complete topic of offset syncs of a flow, copied into its archive.",
}


def group_of(analysis: Analysis) -> Group:
    """Return the group of an analysis."""
    if analysis.kind in _OF_EVENTS:
        return EVENTS
    if analysis.kind in _OF_RECORDS:
        return RECORDS
    is_of_log = any(one.type is ArgumentType.LOG for one in analysis.arguments)
    return METADATA if is_of_log else OFFSETS


def terms_of(analysis: Analysis) -> list[str]:
    """Return the terms of its group that an analysis uses."""
    titles = [column.title for table in analysis.tables for column in table.columns]
    used = [analysis.title, analysis.definition, _SENTENCES.get(analysis.kind, ""), *titles]
    text = " ".join(used).lower()
    return [term for term in group_of(analysis).terms if term.lower() in text]


def grouped(analyses: Iterable[Analysis]) -> list[tuple[Group, list[tuple[Analysis, str]]]]:
    """Return the groups that have analyses, each analysis with the sentence of what it answers."""
    found: dict[str, list[tuple[Analysis, str]]] = {}
    for one in analyses:
        sentence = _SENTENCES.get(one.kind, one.question)
        if one.kind in _PACED:
            sentence += f" Reads at most {settings.RECORD_READ_MB_PER_S} MB/s of a cluster."
        found.setdefault(group_of(one).id, []).append((one, sentence))
    return [
        (group, found[group.id])
        for group in (METADATA, OFFSETS, RECORDS, EVENTS)
        if group.id in found
    ]
