"""Pages of the metadata log: partitions, brokers, config changes, search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from console.frame.pages.render import render_page
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import page
from console.frame.tables.table import Table
from console.quorum import equivalents, queries
from console.quorum.forms import MOST_SUBJECTS, PartitionForm, SearchForm
from console.quorum.history import queries as history
from console.quorum.history.timelines import draw_brokers, draw_partition, draw_partitions
from console.quorum.labels import Kind
from console.quorum.models import MetadataChange, MetadataLog
from console.quorum.page_context import around_log, clock_of, find_log
from console.quorum.tables import BROKER_CHANGES, CHANGES, PARTITION_CHANGES, SETTING_CHANGES


@require_safe
@page("view", queries.where)
def log_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Search what changed: by topic, broker, record type and time."""
    log = find_log(alias)
    around = around_log(request, log, "log")
    rows = _within(history.list_changes(log), around["time_range"])
    table = CHANGES.read(request, rows, f"{log.name}-metadata-changes", log.missing_sentences)
    history.with_previous(table.rows)
    asked = {name: request.GET.get(name, "") for name in ("topic", "broker", "type", "kind")}
    context = {
        **around,
        "table": table,
        "form": SearchForm(initial=asked),
        "equivalents": equivalents.of_changes(log, **asked),
    }
    return render_page(request, "quorum/history/log.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def partitions_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show leaders and ISR of partitions; of one partition, a lane per broker."""
    log = find_log(alias)
    now, around = clock_of(log), around_log(request, log, "partitions")
    table = PARTITION_CHANGES.read(
        request,
        _within(history.list_changes(log, Kind.PARTITION), around["time_range"]),
        f"{log.name}-partition-changes",
        log.missing_sentences,
    )
    form = PartitionForm(request.GET if "topic" in request.GET else None)
    topic, partition = form.requested()
    lanes = None
    if topic:
        found = _partitions(log, around["time_range"], topic, partition)
        if partition is None:
            lanes = draw_partitions(log, found, around["time_range"], now)
        else:
            changes = found.get(partition, [])
            lanes = draw_partition(log, changes, around["time_range"], now)
    context = {
        **around,
        "table": table,
        "form": form,
        "lanes": lanes,
        "topic": topic,
        "partition": partition,
        "equivalents": equivalents.of_partition(log, topic, partition),
    }
    return render_page(request, "quorum/history/partitions.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def brokers_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show when brokers were registered, fenced and shutting down."""
    log = find_log(alias)
    around = around_log(request, log, "brokers")
    rows = _within(history.list_changes(log, Kind.BROKER), around["time_range"])
    subjects = history.list_subjects(log, Kind.BROKER).order_by("broker")[:MOST_SUBJECTS]
    by_subject = history.history_of(log, around["time_range"], subjects)
    by_broker = {changes[0].broker or 0: changes for changes in by_subject.values() if changes}
    lanes = draw_brokers(log, by_broker, around["time_range"], clock_of(log))
    context = {"lanes": lanes, "equivalents": equivalents.of_changes(log, kind=Kind.BROKER)}
    return _table_page(request, "brokers", BROKER_CHANGES, rows, {**around, **context})


@require_safe
@page("view", queries.where)
def settings_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show config changes; secrets were redacted when the log was read."""
    log = find_log(alias)
    around = around_log(request, log, "settings")
    rows = history.list_changes(log).filter(kind__in=[Kind.CONFIG, Kind.FEATURE, Kind.QUOTA])
    rows = _within(rows, around["time_range"])
    context = {"equivalents": equivalents.of_changes(log, kind=Kind.CONFIG)}
    return _table_page(request, "settings", SETTING_CHANGES, rows, {**around, **context})


def _table_page(
    request: HttpRequest,
    name: str,
    table: Table,
    rows: QuerySet[MetadataChange],
    around: dict[str, Any],
) -> HttpResponseBase:
    log = around["log"]
    found = table.read(request, rows, f"{log.name}-{name}", log.missing_sentences)
    history.with_previous(found.rows)
    context = {**around, "table": found}
    return render_page(request, f"quorum/history/{name}.html", context, is_live=True)


def _within(rows: QuerySet[MetadataChange], time_range: TimeRange) -> QuerySet[MetadataChange]:
    return rows.filter(at__gte=time_range.start, at__lte=time_range.end)


def _partitions(
    log: MetadataLog, time_range: TimeRange, topic: str, partition: int | None
) -> dict[int, Sequence[MetadataChange]]:
    """Return changes by partition; a topic that was deleted and re-created keeps its lanes."""
    subjects = history.list_subjects(log, Kind.PARTITION).filter(topic=topic)
    if partition is not None:
        subjects = subjects.filter(partition=partition)
    subjects = subjects.order_by("partition", "first_offset")[:MOST_SUBJECTS]
    found: dict[int, list[MetadataChange]] = {}
    for changes in history.history_of(log, time_range, subjects).values():
        for change in changes:
            found.setdefault(change.partition or 0, []).append(change)
    return {
        number: sorted(changes, key=lambda one: (one.offset, one.number))
        for number, changes in found.items()
    }
