"""What the availability report is built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.conf import settings
from django.urls import reverse

from console.availability import queries as failures
from console.availability.status import queries as status
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.quorum import queries as quorum
from console.replication.flows import queries as flows
from console.reports.kinds.asked import (
    Answer,
    Asked,
    Question,
    count_rows,
    key_of,
    moment_in,
    needs_analysis,
    rows_of,
    window_of,
)
from console.reports.kinds.isr_records import read_churn, read_peaks, read_unclean
from console.reports.kinds.objectives import read_objectives
from console.reports.kinds.partition_records import (
    OPEN_MS,
    Partitions,
    read_partitions,
    read_spans,
)
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.reports.document import Gap
from jobs.reports.kinds.clusters.availability_recorded import (
    AnalysisTold,
    AvailabilityRecorded,
    ClusterAvailability,
    Outage,
    RackLoss,
    RackOutlook,
)
from jobs.reports.kinds.clusters.partition_time import (
    PartitionSpans,
    TimeTotals,
    WorstSpan,
    totals_of,
    worst_spans,
)
from jobs.reports.kinds.clusters.watched_time import Ints, WatchedTime, moment_of
from jobs.reports.kinds.kind import OpenStep
from jobs.reports.periods import Period
from jobs.reports.values import AROUND, stamp, within

INTERNAL = "Internal topics"
REMOTE = "Remote topics"
USER = "User topics"


class TopicClasses:
    """The classes of a cluster's topics.

    Internal are those of Kafka, Connect and MirrorMaker 2, remote those that a flow replicates to here.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._policy = DefaultReplicationPolicy()
        internal = clusters.list_topics(cluster).filter(is_internal=True)
        self._internal = set(internal.values_list("name", flat=True))
        remote = flows.list_topics().filter(flow__target=cluster)
        self._remote = set(remote.values_list("remote_topic", flat=True))

    def of(self, topic: str) -> str:
        if topic in self._internal or self._policy.is_internal_topic(topic):
            return INTERNAL
        return REMOTE if topic in self._remote else USER

    @staticmethod
    def numbered(classes: Sequence[str], labels: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the number of the class of each topic, and the number of each topic itself."""
        known = {label: number for number, label in enumerate(labels)}
        numbers = [known[one] for one in classes]
        return np.array(numbers, dtype=np.int64), np.arange(len(classes), dtype=np.int64)


KIND = "partition-availability"
# A period that ends less than this before now is one up to now.
NEAR = timedelta(minutes=2)
MOST_RUNBOOKS = 5
# So short a time at the end is that since the last round.
LATE_MS = 60_000


def questions(asked: Asked) -> Sequence[Question]:
    """Return the analyses for clusters whose history in the database does not cover the period."""
    found = []
    kept_from = asked.now - timedelta(days=settings.AVAILABILITY_HISTORY_D)
    for cluster in asked.subjects:
        log = quorum.log_of(cluster)
        if log is None:
            continue
        known_from = quorum.known_from(log)
        known = None if known_from is None else max(known_from, kept_from)
        is_cut = log.pruned_below is not None or known != known_from
        if needs_analysis(asked, log.name, known, is_cut=is_cut):
            arguments = window_of(asked, log.name) | _default_min_isr(cluster)
            found.append(Question(key_of(asked, KIND, log.name), KIND, arguments))
    return found


def read(asked: Asked) -> AvailabilityRecorded:
    """Return what was recorded of the period."""
    clusters = tuple(_read(asked, cluster) for cluster in asked.subjects)
    objectives = read_objectives(asked, "cluster", asked.subjects)
    return AvailabilityRecorded(asked.period, clusters, objectives)


def _read(asked: Asked, cluster: Cluster) -> ClusterAvailability:
    period = asked.period
    log = quorum.log_of(cluster)
    told = failures.log_told(cluster)
    watch = failures.read_watch(cluster, told, period.start, period.end, asked.now)
    watched = failures.watched_in(watch, period.start, period.end)
    partitions = read_partitions(cluster, told, period.start)
    spans, causes = read_spans(cluster, period, partitions)
    answer = asked.answers.get(key_of(asked, KIND, log.name)) if log is not None else None
    values = _totals(cluster, watched, partitions, spans)
    values |= _analysed(cluster, period, answer)
    brokers, racks = read_churn(cluster, watched, period)
    unclean, unclean_count = read_unclean(cluster, period, log)
    is_known = watched is not None
    return ClusterAvailability(
        alias=cluster.alias,
        **{**_coverage(cluster, period, watch, watched), **values},
        outages=_outages(cluster, watched, partitions, spans, causes) if watched else (),
        span_count=len(spans.life) if is_known else 0,
        brokers=brokers,
        racks=racks,
        unclean=unclean,
        unclean_count=unclean_count,
        outlook=_outlook(cluster, period, asked.now),
        peaks=read_peaks(cluster, period, asked.now),
        open_steps=tuple(_open_steps(cluster, watch, period, asked.now)),
        **_pages(cluster, period, log),
    )


def _coverage(
    cluster: Cluster, period: Period, watch: failures.Watch, watched: WatchedTime | None
) -> dict[str, Any]:
    """Return what is covered and what is not, as keywords of `ClusterAvailability`."""
    alias = cluster.alias
    if watched is None:
        why = f"The availability of {alias} was not recorded in this period."
        return {"gaps": (Gap(stamp(period.start), stamp(period.end), why),)}
    start, end = watched.watched[0][0], watched.watched[-1][1]
    gaps = []
    if start > watched.start:
        why = f"The availability of {alias} is known from here on."
        gaps.append((watched.start, start, why))
    gaps += [
        (max(begins, start), min(ends, end), why)
        for (begins, ends), why in watch.unknown
        if begins < end and ends > start
    ]
    if watched.end - end > LATE_MS:
        gaps.append((end, watched.end, f"The partitions of {alias} were last observed then."))
    told = (
        Gap(stamp(moment_of(one)), stamp(moment_of(two)), why) for one, two, why in sorted(gaps)
    )
    return {"start": moment_of(start), "end": moment_of(end), "gaps": tuple(told)}


def _totals(
    cluster: Cluster,
    watched: WatchedTime | None,
    partitions: Partitions,
    spans: PartitionSpans,
) -> dict[str, Any]:
    if watched is None:
        return {}
    classes = TopicClasses(cluster)
    lives, names = partitions.lives(), list(partitions.topics)
    of_topic = [classes.of(name) for name in names]
    labels = sorted(set(of_topic))
    groups, numbers = classes.numbered(of_topic, labels)
    topics = totals_of(watched, lives, spans, numbers, list(zip(names, of_topic, strict=True)))
    whole = totals_of(watched, lives, spans, numbers * 0, [(cluster.alias, "")])
    notes = []
    if partitions.unnamed:
        notes.append(
            f"{partitions.unnamed:,} deleted partitions are left out: the names of their topics were not "
            "recorded."
        )
    return {
        "totals": whole[0] if whole else None,
        "classes": tuple(totals_of(watched, lives, spans, groups, [(one, "") for one in labels])),
        "topics": tuple(topics),
        "topic_count": len(topics),
        "notes": tuple(notes),
    }


def _analysed(cluster: Cluster, period: Period, answer: Answer | None) -> dict[str, Any]:
    """Return what an analysis of the archived log says in place of the database; nothing without one."""
    if answer is None:
        return {}
    facts = (answer.document or {}).get("facts", {})
    if not facts.get("partition_ms"):
        error = answer.error or "The archive holds no partition in this period."
        return {"analysis": AnalysisTold(answer.href, error)}
    classes = TopicClasses(cluster)
    topics = [
        _analysed_totals(row, row["topic"], classes.of(row["topic"]))
        for row in rows_of(answer, "topics")
    ]
    count = count_rows(answer, "topics")
    is_whole = len(topics) == count
    partitions = sum(one.partitions or 0 for one in topics) if is_whole else None
    start, end = moment_in(facts, "from"), moment_in(facts, "to")
    return {
        "analysis": AnalysisTold(answer.href),
        "totals": _analysed_totals(facts | {"partitions": partitions}, cluster.alias),
        "classes": _summed(topics) if is_whole else (),
        "topics": tuple(topics),
        "topic_count": count,
        "start": start,
        "end": end,
        "gaps": tuple(_outside(period, start, end)),
        "notes": tuple(answer.document["notes"]) if answer.document else (),
    }


def _outside(period: Period, start: datetime | None, end: datetime | None) -> list[Gap]:
    found = []
    if start is not None and start > period.start:
        found.append(
            Gap(stamp(period.start), stamp(start), "The archived metadata log begins later.")
        )
    if end is not None and end < period.end:
        found.append(Gap(stamp(end), stamp(period.end), "The archived metadata log ends before."))
    return found


def _analysed_totals(row: Any, name: str, class_name: str = "") -> TimeTotals:
    return TimeTotals(
        name,
        class_name,
        row["partitions"],
        row["partition_ms"],
        row["leaderless_ms"],
        row["under_min_isr_ms"],
        None,
        None,
    )


def _summed(topics: Sequence[TimeTotals]) -> tuple[TimeTotals, ...]:
    found = []
    for name in sorted({one.class_name for one in topics}):
        own = [one for one in topics if one.class_name == name]
        found.append(
            TimeTotals(
                name,
                "",
                sum(one.partitions or 0 for one in own),
                sum(one.partition_ms for one in own),
                sum(one.leaderless_ms for one in own),
                sum(one.under_min_isr_ms for one in own),
                None,
                None,
            )
        )
    return tuple(found)


def _outages(
    cluster: Cluster,
    watched: WatchedTime,
    partitions: Partitions,
    spans: PartitionSpans,
    causes: Sequence[tuple[str, int | None]],
) -> tuple[Outage, ...]:
    names = list(partitions.topics)
    found = []
    for one in worst_spans(watched, spans):
        topic, number, life = min(
            (names[partitions.group[life]], partitions.number[life], life) for life in one.lives
        )
        cause = status.cause_words(*causes[one.cause])
        is_there = life < partitions.present
        href = _outage_page(cluster, topic, number, one, watched) if is_there else ""
        found.append(
            Outage(
                moment_of(one.begin),
                None if one.end >= OPEN_MS else moment_of(one.end),
                one.ms,
                one.is_leaderless,
                f"{topic}-{number}",
                len(one.lives),
                cause,
                href,
            )
        )
    return tuple(found)


def _outage_page(
    cluster: Cluster, topic: str, number: int, one: WorstSpan, watched: WatchedTime
) -> str:
    path = reverse("availability:partition", args=[cluster.alias, topic, number])
    begin = moment_of(max(one.begin, watched.start))
    return within(path, begin - AROUND, moment_of(min(one.end, watched.end)) + AROUND)


def _outlook(cluster: Cluster, period: Period, now: datetime) -> RackOutlook:
    at = None if now - period.end <= NEAR else period.end
    found = failures.rack_losses(cluster, at)
    losses = tuple(
        RackLoss(
            one.rack,
            one.counts.became_unwritable,
            one.counts.offline,
            one.counts.partitions,
            one.has_majority,
            one.href,
            one.counts.unknown,
        )
        for one in found.losses
    )
    return RackOutlook(losses, found.seen_at, not found.why, found.why, found.gaps)


def _open_steps(
    cluster: Cluster, watch: failures.Watch, period: Period, now: datetime
) -> Iterator[OpenStep]:
    """Yield the steps of the worst runbooks of now; none where the period or the last round ended before."""
    if watch.known_until is None or now - min(period.end, watch.known_until) > NEAR:
        return
    path = reverse("availability:runbooks", args=[cluster.alias])
    for book in failures.open_runbooks(cluster)[:MOST_RUNBOOKS]:
        asked: dict[str, object] = {"severity": book.trouble, "cause": book.cause}
        if book.partition is not None:
            asked |= {"topic": book.topic, "partition": book.partition}
        href = f"{path}?{urlencode(asked)}"
        for step in book.steps:
            yield OpenStep(book.title, step.number, step.sentence, step.commands, href)


def _default_min_isr(cluster: Cluster) -> dict[str, int]:
    """Return min.insync.replicas of server.properties, which no metadata log has, as it is now."""
    rows = status.list_statuses(cluster).filter(min_isr_origin__in=("static", "kafka")).order_by()
    least = rows.values_list("min_insync_replicas", flat=True).first()
    return {} if least is None else {"default_min_isr": least}


def _pages(cluster: Cluster, period: Period, log: quorum.Log | None) -> dict[str, Any]:
    times, alias = (period.start, period.end), cluster.alias
    found = {
        "href": within(reverse("availability:detail", args=[alias]), *times),
        "brokers_href": within(reverse("availability:brokers", args=[alias]), *times),
        "topic_href": within(reverse("availability:partitions", args=[alias]), *times),
        "topic_parameter": "q",
    }
    if log is not None:
        path = reverse("quorum:partitions", args=[log.name])
        found |= {"topic_href": within(path, *times), "topic_parameter": "topic"}
    return found
