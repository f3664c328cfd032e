"""Pages of quorums: the list, one quorum now, its voters over time, one raw record."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from console.findings import queries as findings
from console.findings.models import Kind as FindingKind
from console.frame.pages.forms import RemovalForm
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page
from console.quorum import equivalents, queries
from console.quorum.facts import quorum_facts, shown_replicas
from console.quorum.log.import_pages import NOUN
from console.quorum.log.records import read_records
from console.quorum.page_context import around_log, clock_of, find_log
from console.quorum.tables import ELECTIONS, ENDED, LOGS, VOTER_SETS
from console.quorum.voters.timelines import draw_voters

MOST_OPEN = 100


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the quorums of all clusters, and imported logs."""
    table = LOGS.read(request, queries.list_logs(), "quorums")
    context = {"table": table, "equivalents": equivalents.of_list()}
    return render_page(request, "quorum/list.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def detail_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the quorum now: leader, voters, observers, findings."""
    log = find_log(alias)
    ended = ENDED.read(
        request,
        findings.list_findings(FindingKind.QUORUM, log=log.pk or 0).exclude(closed_at=None),
        f"{log.name}-quorum-findings",
        log.missing_sentences,
    )
    context = {
        **around_log(request, log, "detail"),
        "status": (status := queries.status_of(log)),
        "replicas": shown_replicas(status),
        "facts": quorum_facts(log),
        "findings": findings.open_findings(FindingKind.QUORUM, log=log.pk or 0)[:MOST_OPEN],
        "ended": ended,
        "equivalents": equivalents.of_quorum(log),
        "findings_call": equivalents.of_findings(log),
        "removal": RemovalForm(log.name, NOUN),
    }
    return render_page(request, "quorum/detail.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def voters_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show voters, their directories and leaders over time."""
    log = find_log(alias)
    sets = VOTER_SETS.read(
        request, queries.list_voter_sets(log), f"{log.name}-voter-sets", log.missing_sentences
    )
    elections = ELECTIONS.read(
        request, queries.list_elections(log), f"{log.name}-elections", log.missing_sentences
    )
    around = around_log(request, log, "voters")
    context = {
        **around,
        "sets": sets,
        "elections": elections,
        "lanes": draw_voters(log, around["time_range"], clock_of(log)),
        "equivalents": equivalents.of_voters(log),
        "elections_call": equivalents.of_elections(log),
    }
    return render_page(request, "quorum/voters.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def record_page(request: HttpRequest, alias: str, offset: int) -> HttpResponse:
    """Show the raw records at an offset, and their changes."""
    log = find_log(alias)
    context = {
        **around_log(request, log, "log"),
        "offset": offset,
        "found": read_records(log, offset),
        "equivalents": equivalents.of_record(log, offset),
    }
    return render_page(request, "quorum/record.html", context)
