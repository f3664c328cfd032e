"""The quorum report: what was recorded of a period, as sections."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jobs.numbers import format_span_ms
from jobs.reports.document import (
    Block,
    Figure,
    Figures,
    Section,
    Table,
    Text,
    Verdict,
)
from jobs.reports.kinds.clusters.config_changes import config_table
from jobs.reports.kinds.clusters.leader_lanes import leader_chart, time_without_controller
from jobs.reports.kinds.clusters.quorum_recorded import ClusterQuorum, QuorumRecorded
from jobs.reports.kinds.columns import Column, Layout
from jobs.reports.kinds.kind import Content, counted, failed_analysis, worst_first
from jobs.reports.values import ValueType, stamp, text_of
from jobs.severity import Severity

MOST_ROWS = 500
_TYPE = ValueType
_GAP = (
    "From the last record before an election or a silence to the record that ended it, in the period: an "
    "active controller writes at least every 500 ms. A silence is much longer than records usually are apart."
)
_SEVERE = {"critical": Severity.CRITICAL, "warning": Severity.WARNING}


def build(recorded: QuorumRecorded, before: QuorumRecorded | None) -> Content:
    """Return what the report tells of a period, with the period before beside it when it is given."""
    earlier = {one.alias: one for one in before.clusters} if before else {}
    sections: list[Section] = []
    verdicts: list[Verdict] = []
    for cluster in sorted(recorded.clusters, key=lambda one: one.alias):
        verdicts += _verdicts(cluster)
        sections += _sections(cluster, earlier.get(cluster.alias), has_before=before is not None)
    return Content(tuple(sections), worst_first(verdicts))


def _verdicts(cluster: ClusterQuorum) -> Iterator[Verdict]:
    alias, href = cluster.alias, cluster.href
    time = time_without_controller(cluster)
    if time is None:
        text = f"Nothing is known of the metadata log of {alias} in this period."
        yield Verdict(Severity.UNKNOWN, "Unknown", text, href)
        return
    count = counted(len(cluster.elections), "election")
    text = f"{alias}: {count}" if cluster.start else f"{alias}: elections are not known"
    if not time.spans and cluster.gaps:
        text += ", no time without a controller in the part of the period that is known."
        yield Verdict(Severity.UNKNOWN, "Partly known", text, href)
    elif not time.spans:
        yield Verdict(
            Severity.HEALTHY, "Always a controller", f"{text}, no time without a controller.", href
        )
    else:
        text += f", {format_span_ms(time.total_ms)} without an active controller, the longest "
        text += f"{format_span_ms(time.longest_ms)} until {_when(time.longest_end)}."
        level = Severity.WARNING if time.is_notable else Severity.HEALTHY
        yield Verdict(level, "Time without a controller", text, href)
    if cluster.voter_changes:
        told = f"{counted(len(cluster.voter_changes), 'change')} of the voter set of {alias}."
        open_ = any(one.is_committed is False for one in cluster.voter_changes)
        level = Severity.CRITICAL if open_ else Severity.WARNING
        yield Verdict(level, "Voters changed", told, cluster.voters_href)
    still_open = [one for one in cluster.findings if one.closed_at is None]
    severe = [one for one in still_open if one.severity in _SEVERE]
    if severe:
        level = _SEVERE[severe[0].severity]
        text = f"{counted(len(severe), 'finding')} of {alias} open at the end: {severe[0].sentence}"
        yield Verdict(level, "Open findings", text, href)


def _sections(
    cluster: ClusterQuorum, before: ClusterQuorum | None, *, has_before: bool
) -> Iterator[Section]:
    alias = cluster.alias
    start, end = stamp(cluster.start), stamp(cluster.end)

    def section(name: str, title: str, *blocks: Block | None) -> Section:
        there = tuple(one for one in blocks if one is not None)
        return Section(f"{name}-{alias}", title, start, end, there, cluster.gaps)

    figures = Figures(tuple(_figures(cluster, before)), has_before)
    yield section(
        "quorum",
        f"Quorum of {alias}",
        *_sentences(cluster),
        figures,
        leader_chart(cluster),
        _voters(cluster),
        _elections(cluster),
        _findings(cluster),
    )
    yield section("brokers", f"Brokers of {alias}", _brokers(cluster), _broker_events(cluster))
    yield section(
        "configs",
        f"Configs and features of {alias}",
        _config_counts(cluster),
        config_table(cluster),
        _features(cluster),
    )


def _sentences(cluster: ClusterQuorum) -> Iterator[Block]:
    told = cluster.controller_time
    if told is not None and told.error:
        yield failed_analysis(told.error, told.href)
    elif told is not None:
        text = (
            f"By the analysis of the archived metadata log from {_when(told.start)} to {_when(told.end)}, no "
            f"controller was active for {format_span_ms(told.total_ms)} in {counted(told.spans, 'span')}"
        )
        if told.spans:
            longest = format_span_ms(told.longest_ms)
            text += f", the longest {longest} from {_when(told.longest_from)}"
        yield Verdict(Severity.UNKNOWN, "Analysis", f"{text}.", told.href)
    yield Text(f"Voters at the begin: {cluster.voters_before or 'not known'}.")
    yield Text(f"Voters at the end: {cluster.voters_after or 'not known'}.")


def _when(at: datetime | None) -> str:
    return text_of(stamp(at), _TYPE.MOMENT)


def _figures(cluster: ClusterQuorum, before: ClusterQuorum | None) -> Iterator[Figure]:
    now = _numbers(cluster)
    then = _numbers(before) if before is not None else {}
    for name, (label, type_, definition, page) in _FIGURES.items():
        href = getattr(cluster, page)
        yield Figure(label, now.get(name), type_, definition, href, then.get(name))


_FIGURES = {
    "elections": (
        "Elections",
        _TYPE.COUNT,
        "Controllers that became leader of the metadata log (LeaderChange records).",
        "voters_href",
    ),
    "spans": (
        "Times without an active controller",
        _TYPE.COUNT,
        f"Before elections, and when the log was silent without one. {_GAP}",
        "voters_href",
    ),
    "gap": ("Time without an active controller", _TYPE.DURATION_MS, f"Sum. {_GAP}", "voters_href"),
    "longest": ("Longest time without one", _TYPE.DURATION_MS, _GAP, "voters_href"),
    "at": ("Longest: ended", _TYPE.MOMENT, "When the next controller was active.", "voters_href"),
    "voters": (
        "Changes of the voter set",
        _TYPE.COUNT,
        "Voter sets that were written in the period.",
        "voters_href",
    ),
    "fenced": (
        "Brokers fenced",
        _TYPE.COUNT,
        "Times that a broker that was in use was fenced: the controller no longer heard of it, or it was "
        "shut down.",
        "brokers_href",
    ),
    "fenced_ms": (
        "Fenced time",
        _TYPE.DURATION_MS,
        "Of all brokers together, as far as it lies in the period.",
        "brokers_href",
    ),
    "configs": (
        "Config changes",
        _TYPE.COUNT,
        "Config records of the metadata log, those of new topics included.",
        "settings_href",
    ),
    "features": ("Feature levels changed", _TYPE.COUNT, "FeatureLevel records.", "settings_href"),
    "findings": (
        "Open findings",
        _TYPE.COUNT,
        "Findings about the quorum that were open at the end of the period.",
        "href",
    ),
}


def _numbers(cluster: ClusterQuorum) -> dict[str, object]:
    time = time_without_controller(cluster)
    if time is None:
        return {}
    found: dict[str, object] = {
        "spans": time.spans,
        "gap": time.total_ms,
        "longest": time.longest_ms,
        "at": stamp(time.longest_end),
    }
    if cluster.start is None:
        return found
    return found | {
        "elections": len(cluster.elections),
        "voters": len(cluster.voter_changes),
        "fenced": sum(one.times for one in cluster.brokers),
        "fenced_ms": sum(one.fenced_ms for one in cluster.brokers),
        "configs": cluster.config_count,
        "features": len(cluster.features),
        "findings": sum(one.closed_at is None for one in cluster.findings),
    }


def _voters(cluster: ClusterQuorum) -> Table:
    return Layout(
        f"voters-{cluster.alias}",
        "Changes of the voter set",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("change", "Change"),
            Column("voters", "Voters afterwards"),
            Column(
                "committed",
                "Committed",
                _TYPE.BOOLEAN,
                "On a majority of the voters.",
                "is_committed",
            ),
        ),
        empty="The voters stayed the same.",
    ).fill(cluster.voter_changes)


def _elections(cluster: ClusterQuorum) -> Table:
    return Layout(
        f"elections-{cluster.alias}",
        "Elections",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("epoch", "Epoch", _TYPE.OFFSET),
            Column("leader", "Leader", _TYPE.OFFSET),
            Column("gap", "Leaderless time", _TYPE.DURATION_MS, _GAP, "gap_ms"),
            Column("anomalies", "Anomalies", of=lambda one: ", ".join(one.anomalies) or None),
        ),
        empty="No election.",
    ).fill(cluster.elections[-MOST_ROWS:], len(cluster.elections))


_FINDINGS = (
    Column("severity", "Severity", of=lambda one: one.severity.capitalize()),
    Column("finding", "Finding"),
    Column("sentence", "What it is"),
    Column("todo", "What to do", of=lambda one: one.todo or None),
    Column("opened", "Began", _TYPE.MOMENT, of="opened_at"),
    Column("closed", "Ended", _TYPE.MOMENT, "Empty: open at the end of the period.", "closed_at"),
    Column("lasted", "Lasted", _TYPE.DURATION_MS, of="lasted_ms"),
)


def _findings(cluster: ClusterQuorum) -> Table:
    name, title = f"findings-{cluster.alias}", "Findings of the period"
    return Layout(name, title, _FINDINGS, lambda _: cluster.href).fill(cluster.findings)


def _brokers(cluster: ClusterQuorum) -> Table:
    return Layout(
        f"fenced-{cluster.alias}",
        "Brokers fenced and returned",
        (
            Column("broker", "Broker", _TYPE.OFFSET),
            Column("times", "Fenced", _TYPE.COUNT),
            Column("returned", "Returned", _TYPE.COUNT),
            Column(
                "fenced",
                "Fenced time",
                _TYPE.DURATION_MS,
                "As far as it lies in the period.",
                "fenced_ms",
            ),
        ),
        empty="No broker was fenced.",
    ).fill(cluster.brokers)


def _broker_events(cluster: ClusterQuorum) -> Table:
    return Layout(
        f"broker-events-{cluster.alias}",
        "Broker registrations",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("broker", "Broker", _TYPE.OFFSET),
            Column("event", "Event"),
            Column("cause", "Cause", of=lambda one: one.cause or None),
        ),
        most=MOST_ROWS,
    ).fill(cluster.broker_events)


def _config_counts(cluster: ClusterQuorum) -> Table:
    empty_name = "Empty: the default of all brokers."
    return Layout(
        f"config-counts-{cluster.alias}",
        "Config changes by resource",
        (
            Column("type", "Resource type", of=lambda one: one[0].replace("_", " ").capitalize()),
            Column("resource", "Resource", _TYPE.TEXT, empty_name, lambda one: one[1] or None),
            Column("changes", "Changes", _TYPE.COUNT, of=lambda one: one[2]),
        ),
        lambda _: cluster.settings_href,
        MOST_ROWS,
        "No config changed.",
    ).fill(sorted(cluster.config_counts, key=lambda one: (-one[2], one[0], one[1])))


def _features(cluster: ClusterQuorum) -> Table:
    return Layout(
        f"features-{cluster.alias}",
        "Feature levels",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("feature", "Feature", of="name"),
            Column("before", "Level before", _TYPE.OFFSET),
            Column("after", "Level after", _TYPE.OFFSET),
        ),
        empty="No feature level changed.",
    ).fill(cluster.features)
