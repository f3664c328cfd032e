"""The availability report: what was recorded of a period, as sections."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from jobs.numbers import format_span_ms
from jobs.reports.document import (
    Block,
    Chart,
    ChartType,
    Figures,
    Section,
    Series,
    Table,
    Text,
    Verdict,
    covered,
)
from jobs.reports.kinds.clusters.availability_figures import MINUTES_UNDER, figures_of
from jobs.reports.kinds.clusters.availability_recorded import (
    AvailabilityRecorded,
    ClusterAvailability,
    RackOutlook,
)
from jobs.reports.kinds.clusters.partition_time import TimeTotals
from jobs.reports.kinds.columns import Column, Layout, before_column
from jobs.reports.kinds.kind import Content, counted, failed_analysis, runbook_table, worst_first
from jobs.reports.kinds.objectives import objectives_sections
from jobs.reports.values import ValueType, stamp, text_of
from jobs.severity import Severity

MOST_TOPICS = 500
_TYPE = ValueType
_DEFINITIONS = {
    "partition_ms": "Watched time of all partitions together, each from its creation, or from when it was "
    "first seen, to its deletion.",
    "any_under": "Time in which at least one of the partitions was leaderless or under min ISR.",
    "churn": "Spans of a replica outside of the ISR that began in the period; observers and replicas that "
    "are being added are not counted.",
    "survives": "Every partition that took writes with acks=all still does, each has a leader, and the "
    "quorum has a majority.",
}


def build(recorded: AvailabilityRecorded, before: AvailabilityRecorded | None) -> Content:
    """Return what the report tells of a period, with the period before beside it when it is given."""
    earlier = {one.alias: one for one in before.clusters} if before else {}
    sections = [*objectives_sections(recorded.objectives, "cluster")]
    verdicts: list[Verdict] = []
    for cluster in sorted(recorded.clusters, key=lambda one: one.alias):
        found = tuple(_verdicts(cluster))
        verdicts += found
        known = earlier.get(cluster.alias) if before else None
        sections += _sections(cluster, known, has_before=before is not None)
    return Content(tuple(sections), worst_first(verdicts))


def _verdicts(cluster: ClusterAvailability) -> Iterator[Verdict]:
    yield _availability_verdict(cluster)
    yield _rack_verdict(cluster)
    if cluster.unclean_count:
        told = counted(cluster.unclean_count, "unclean leader election")
        text = f"{told} on {cluster.alias}: acknowledged records may be lost."
        yield Verdict(Severity.CRITICAL, "Unclean elections", text, cluster.href)


def _availability_verdict(cluster: ClusterAvailability) -> Verdict:
    totals = cluster.totals
    if totals is None or totals.availability is None:
        text = f"Nothing is known of the availability of {cluster.alias} in this period."
        return Verdict(Severity.UNKNOWN, "Unknown", text, cluster.href)
    share = text_of(totals.availability, _TYPE.AVAILABILITY)
    writes = text_of(totals.write_availability, _TYPE.AVAILABILITY)
    text = f"{cluster.alias}: {share} available, {writes} for writes with acks=all."
    if not totals.under_min_isr_ms:
        return Verdict(Severity.HEALTHY, "Available", text, cluster.href)
    if cluster.outages:
        worst = cluster.outages[0]
        began = text_of(stamp(worst.start), _TYPE.MOMENT)
        state = "leaderless" if worst.is_leaderless else "under min ISR"
        text += (
            f" Worst outage: {counted(worst.partitions, 'partition')} {state} for "
            f"{format_span_ms(worst.ms)} from {began} ({worst.cause})."
        )
    level = Severity.CRITICAL if totals.leaderless_ms else Severity.WARNING
    word = "Partitions leaderless" if totals.leaderless_ms else "Partitions under min ISR"
    return Verdict(level, word, text, cluster.href)


def _rack_verdict(cluster: ClusterAvailability) -> Verdict:
    losses, alias = cluster.outlook.losses, cluster.alias
    if not losses:
        text = f"Whether {alias} survives the loss of one rack is not known. {_no_racks(cluster.outlook)}"
        return Verdict(Severity.UNKNOWN, "Unknown", text, cluster.href)
    at = text_of(stamp(cluster.outlook.snapshot_at), _TYPE.MOMENT)
    fatal = [one for one in losses if one.is_survived is False]
    if not fatal and (open_ := [one for one in losses if one.is_survived is None]):
        what = alias if any(one.unknown for one in open_) else f"the quorum of {alias}"
        text = f"Whether {what} survives the loss of one rack is not known ({at})."
        return Verdict(Severity.UNKNOWN, "Unknown", text, open_[0].href)
    if not fatal:
        text = f"{alias} survives the loss of any one of its {counted(len(losses), 'rack')} ({at})."
        return Verdict(Severity.HEALTHY, "Survives the loss of one rack", text, losses[0].href)
    worst = max(fatal, key=lambda one: (one.unwritable + one.offline, one.loses_quorum, one.rack))
    lost = ", and the quorum loses its majority" if worst.loses_quorum else ""
    text = (
        f"{alias} does not survive the loss of {', '.join(one.rack for one in fatal)} ({at}). Without "
        f"{worst.rack}, {counted(worst.unwritable, 'partition')} would refuse writes with acks=all{lost}."
    )
    return Verdict(Severity.CRITICAL, "Does not survive the loss of one rack", text, worst.href)


def _sections(
    cluster: ClusterAvailability, before: ClusterAvailability | None, *, has_before: bool
) -> Iterator[Section]:
    alias, times = cluster.alias, covered(cluster.start, cluster.end)
    blocks: list[Block] = [*_sentences(cluster), *map(Text, cluster.notes)]
    blocks.append(Figures(figures_of(cluster, before), has_before))
    if cluster.peaks:
        blocks.append(_peaks(cluster))
    blocks += [
        _class_table(cluster, before, has_before=has_before),
        _topic_table(cluster, before, has_before=has_before),
        _outage_table(cluster),
    ]
    if cluster.open_steps:
        blocks.append(runbook_table(f"runbooks-{alias}", cluster.open_steps))
    title = f"Availability of {alias}"
    start, end = times["start"], times["end"]
    yield Section(f"availability-{alias}", title, start, end, tuple(blocks), cluster.gaps)
    churn = (
        _churn_table(cluster, before, "brokers", has_before=has_before),
        _churn_table(cluster, before, "racks", has_before=has_before),
        _unclean_table(cluster),
    )
    title = f"ISR churn and unclean elections of {alias}"
    yield Section(f"isr-{alias}", title, start, end, churn, cluster.gaps)
    yield _outlook(cluster)


def _sentences(cluster: ClusterAvailability) -> Iterator[Verdict]:
    told = cluster.analysis
    if told is not None and told.error:
        yield failed_analysis(told.error, told.href)
    elif told is not None:
        text = (
            "Totals and topics are from an analysis of the archived metadata log; the rest is from the "
            "database of crosslog, as far as it reaches."
        )
        yield Verdict(Severity.UNKNOWN, "Analysis", text, told.href)


def _peaks(cluster: ClusterAvailability) -> Chart:
    x = tuple(stamp(one.at) or "" for one in cluster.peaks)
    series = (
        Series("Leaderless", x, tuple(one.leaderless for one in cluster.peaks)),
        Series("Under min ISR", x, tuple(one.under_min_isr for one in cluster.peaks)),
    )
    most = [max((v for v in one.values if v is not None), default=0) for one in series]
    return Chart(
        f"peaks-{cluster.alias}",
        "Partitions leaderless and under min ISR",
        ChartType.LINES,
        series,
        f"Most partitions at once per step of time: {counted(most[0], 'partition')} leaderless, "
        f"{counted(most[1], 'partition')} under min ISR.",
    )


_TOTALS = (
    Column("partitions", "Partitions", _TYPE.COUNT),
    Column(
        "leaderless",
        "Leaderless",
        _TYPE.DURATION_MS,
        "Of all partitions together.",
        "leaderless_ms",
    ),
    Column("under_min_isr", "Under min ISR", _TYPE.DURATION_MS, MINUTES_UNDER, "under_min_isr_ms"),
    Column(
        "any",
        "At least one under min ISR",
        _TYPE.DURATION_MS,
        _DEFINITIONS["any_under"],
        "any_under_min_isr_ms",
    ),
    Column(
        "partition_time",
        "Partition time",
        _TYPE.DURATION_MS,
        _DEFINITIONS["partition_ms"],
        "partition_ms",
    ),
    Column("availability", "Availability", _TYPE.AVAILABILITY),
    Column("write_availability", "Availability for writes", _TYPE.AVAILABILITY),
)
_NO_PARTITION = "No partition is known in this period."


def _totals(before: tuple[TimeTotals, ...]) -> tuple[Column, ...]:
    earlier = {one.name: one.write_availability for one in before}
    title = "Availability for writes, before"
    return (*_TOTALS, before_column(title, _TYPE.AVAILABILITY, lambda one: earlier.get(one.name)))


def _class_table(
    cluster: ClusterAvailability, before: ClusterAvailability | None, *, has_before: bool
) -> Table:
    return Layout(
        f"availability-classes-{cluster.alias}",
        "Classes of topics",
        (
            Column("class", "Class", of="name"),
            *_totals(before.classes if before else ()),
        ),
        None,
        empty=_NO_PARTITION,
    ).fill(sorted(cluster.classes, key=lambda one: one.name), has_before=has_before)


def _topic_table(
    cluster: ClusterAvailability, before: ClusterAvailability | None, *, has_before: bool
) -> Table:
    layout = Layout(
        f"availability-topics-{cluster.alias}",
        "Topics",
        (
            Column("topic", "Topic", of="name"),
            Column("class", "Class", of="class_name"),
            *_totals(before.topics if before else ()),
        ),
        lambda one: _topic_page(cluster, one.name),
        MOST_TOPICS,
        _NO_PARTITION,
    )
    rows = sorted(cluster.topics, key=lambda one: (-one.under_min_isr_ms, one.name))
    return layout.fill(rows, cluster.topic_count, has_before=has_before)


def _topic_page(cluster: ClusterAvailability, topic: str) -> str:
    if not cluster.topic_href:
        return ""
    return f"{cluster.topic_href}&{urlencode({cluster.topic_parameter: topic})}"


_OUTAGE = (
    Column("from", "From", _TYPE.MOMENT, of="start"),
    Column("to", "To", _TYPE.MOMENT, "Empty: not over.", "end"),
    Column("duration", "Duration", _TYPE.DURATION_MS, "Watched time in the period.", "ms"),
    Column("state", "State", of=lambda one: "Leaderless" if one.is_leaderless else "Under min ISR"),
    Column("partition", "First partition", of="first_partition"),
    Column("partitions", "Partitions", _TYPE.COUNT, "With the same begin, end, state and cause."),
    Column("cause", "Cause"),
)


def _outage_table(cluster: ClusterAvailability) -> Table:
    empty = "No partition was leaderless or under min ISR."
    layout = Layout(f"outages-{cluster.alias}", "Worst outages", _OUTAGE, empty=empty)
    return layout.fill(cluster.outages)


def _churn_table(
    cluster: ClusterAvailability,
    before: ClusterAvailability | None,
    of: str,
    *,
    has_before: bool,
) -> Table:
    earlier = {one.name: one.spans for one in getattr(before, of)} if before else {}
    none, is_brokers = 0 if before else None, of == "brokers"
    noun = "Broker" if is_brokers else "Rack"
    rack = Column("rack", "Rack", of=lambda one: one.rack or None)
    inside = "Inside of the period."
    layout = Layout(
        f"isr-{of}-{cluster.alias}",
        f"ISR churn by {noun.lower()}",
        (
            Column("name", noun),
            *([rack] if is_brokers else ()),
            Column("spans", "Out-of-sync spans", _TYPE.COUNT, _DEFINITIONS["churn"]),
            Column("total", "Total duration", _TYPE.DURATION_MS, inside, "total_ms"),
            Column("median", "Median duration", _TYPE.DURATION_MS, inside, "median_ms"),
            before_column("Spans, before", _TYPE.COUNT, lambda one: earlier.get(one.name, none)),
        ),
        empty="No replica fell out of the ISR.",
    )
    return layout.fill(getattr(cluster, of), has_before=has_before)


def _unclean_table(cluster: ClusterAvailability) -> Table:
    layout = Layout(
        f"unclean-{cluster.alias}",
        "Unclean leader elections",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("partition", "Partition"),
            Column("leader", "New leader", _TYPE.OFFSET),
            Column("isr", "ISR before", of=lambda one: " ".join(map(str, one.isr_before)) or None),
        ),
        empty="No unclean leader election. Only the metadata log tells them.",
    )
    rows = sorted(cluster.unclean, key=lambda one: (one.at, one.partition))
    return layout.fill(rows, cluster.unclean_count)


def _outlook(cluster: ClusterAvailability) -> Section:
    outlook, alias = cluster.outlook, cluster.alias
    at = outlook.snapshot_at
    texts = [Text(_snapshot_sentence(outlook)), *(Text(one) for one in outlook.notes)]
    table = Layout(
        f"rack-loss-{alias}",
        "Loss of one rack",
        (
            Column("rack", "Rack lost"),
            Column("survives", "Survived", _TYPE.BOOLEAN, _DEFINITIONS["survives"], "is_survived"),
            Column("unwritable", "Partitions that refuse writes", _TYPE.COUNT, "New ones."),
            Column("offline", "Partitions offline", _TYPE.COUNT, "Afterwards."),
            Column("partitions", "Partitions", _TYPE.COUNT),
            Column("quorum", "Quorum has a majority", _TYPE.BOOLEAN, of="has_quorum"),
        ),
        empty=_no_racks(outlook),
    ).fill(outlook.losses)
    blocks: tuple[Block, ...] = (_rack_verdict(cluster), *texts, table)
    return Section(
        f"rack-loss-{alias}", f"Loss of one rack of {alias}", stamp(at), stamp(at), blocks
    )


def _snapshot_sentence(outlook: RackOutlook) -> str:
    if outlook.snapshot_at is None:
        return "No snapshot of the cluster is kept."
    at = text_of(stamp(outlook.snapshot_at), _TYPE.MOMENT)
    if outlook.is_at_end:
        return f"Simulated with the state of the cluster at {at}, the end of the period."
    return f"Simulated with the newest snapshot, of {at}, not the end of the period. {outlook.why}".strip()


def _no_racks(outlook: RackOutlook) -> str:
    if outlook.snapshot_at is None:
        return "The cluster was not collected yet."
    return "No rack of any broker is known."
