"""The availability report against rows: the figures are counted again second by second."""

import random
from datetime import timedelta

import pytest

from console.availability.status.broker_models import BrokerStatus, CountSample
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    PolledMoment,
    SeveritySpan,
    UncleanElection,
)
from console.quorum.models import MetadataChange, MetadataLog
from console.reports.kinds import availability
from console.reports.kinds.asked import Asked
from jobs.reports.kinds.clusters.availability import build
from jobs.reports.periods import Period
from tests.console.availability.making import Story
from tests.console.making import NOW, make_cluster, make_topic, make_user

pytestmark = pytest.mark.django_db
START = NOW - timedelta(seconds=3600)
PERIOD = Period(START, NOW)


@pytest.fixture
def cluster():
    return make_cluster("east")


def at(seconds):
    """A moment so many seconds after the begin of the period."""
    return START + timedelta(seconds=seconds)


def watch(cluster, source="log", until=3600, **fields):
    values = {"source": source, "succeeded_at": at(until)} | fields
    return AvailabilityRound.objects.create(cluster=cluster, noun="status", **values)


def partition(cluster, topic="orders", number=0, since=-1000, **fields):
    values = {"topic_id": "", "leader": 1, "replicas": [1, 2, 3], "isr": [1, 2, 3], "source": "log"}
    values |= {"since": at(since), "known_since": at(since), "seen_at": NOW} | fields
    key = f"{topic}:{number}"
    return PartitionStatus.objects.create(
        cluster=cluster, key=key, topic=topic, partition=number, **values
    )


def span(cluster, begin, end, topic="orders", number=0, severity=4, **fields):
    values = {"source": "log", "cause": "broker_fenced", "cause_broker": 2} | fields
    return SeveritySpan.objects.create(
        cluster=cluster, key=f"{topic}:{number}", topic=topic, partition=number, severity=severity,
        began_at=at(begin), ended_at=None if end is None else at(end), **values,
    )  # fmt: skip


def read(cluster, period=PERIOD, **fields):
    asked = Asked(period, [cluster], make_user("viewer"), now=NOW, **fields)
    return availability.read(asked).clusters[0]


def sample(cluster, at_s, step_s=10, **fields):
    CountSample.objects.create(
        cluster=cluster, kind="cluster", name="", step_s=step_s, at_s=at_s, **fields
    )


def by_seconds(cluster, unknown=()):
    """The same figures from the rows, second by second in plain Python."""
    known = [s for s in range(3600) if not any(a <= s < b for a, b in unknown)]
    spans = {}
    for one in SeveritySpan.objects.filter(severity__gte=3):
        first = (one.began_at - START).total_seconds()
        last = 3600 if one.ended_at is None else (one.ended_at - START).total_seconds()
        spans.setdefault(one.key, []).append((first, last, one.severity))
    found = dict.fromkeys(("time", "leaderless", "under", "any_leaderless", "any_under"), 0)
    lives = [(row.key, (row.known_since - START).total_seconds()) for row in
             PartitionStatus.objects.filter(cluster=cluster)]  # fmt: skip
    for second in known:
        states = []
        for key, since in lives:
            if second < since:
                continue
            found["time"] += 1
            states.append(max([0, *(s for a, b, s in spans.get(key, ()) if a <= second < b)]))
        found["leaderless"] += sum(state == 4 for state in states)
        found["under"] += sum(state >= 3 for state in states)
        found["any_leaderless"] += any(state == 4 for state in states)
        found["any_under"] += any(state >= 3 for state in states)
    return {name: seconds * 1000 for name, seconds in found.items()}


def told(totals):
    return {
        "time": totals.partition_ms,
        "leaderless": totals.leaderless_ms,
        "under": totals.under_min_isr_ms,
        "any_leaderless": totals.any_leaderless_ms,
        "any_under": totals.any_under_min_isr_ms,
    }


@pytest.mark.parametrize("seed", range(4))
def test_the_figures_are_those_of_counting_every_second(cluster, seed):
    draw = random.Random(seed)
    unknown = [(600, 700), (690, 900)] if seed % 2 else []
    gaps = [{"from_at": at(a).isoformat(), "to_at": at(b).isoformat()} for a, b in unknown]
    log = MetadataLog.objects.create(cluster=cluster, name="east", created_at=NOW, gaps=gaps)
    watch(cluster, log_id=log.pk)
    for number in range(5):
        topic, since = draw.choice(["orders", "payments"]), draw.randrange(-500, 2000)
        partition(cluster, topic, number, since)
        begin = max(since, -400)
        while (begin := begin + draw.randrange(1, 900)) < 3500:
            end = begin + draw.randrange(1, 700)
            goes_on = end > 3600 and draw.random() < 0.5
            span(cluster, begin, None if goes_on else end, topic, number, draw.choice([1, 2, 3, 4]))
            begin = end
            if goes_on:
                break
    found = read(cluster)
    assert told(found.totals) == by_seconds(cluster, unknown)
    names = ("partition_ms", "leaderless_ms", "under_min_isr_ms", "partitions")
    for name in names:
        assert sum(getattr(one, name) for one in found.topics) == getattr(found.totals, name)
        assert sum(getattr(one, name) for one in found.classes) == getattr(found.totals, name)


def test_a_span_is_cut_to_the_period_and_counts_by_its_severity(cluster):
    watch(cluster)
    partition(cluster)
    span(cluster, -50, 60)
    span(cluster, 3000, None, severity=3)
    span(cluster, 1000, 2000, severity=2)
    totals = read(cluster).totals
    assert (totals.leaderless_ms, totals.under_min_isr_ms) == (60_000, 660_000)
    assert totals.availability == round(1 - 60 / 3600, 9)
    assert totals.write_availability == round(1 - 660 / 3600, 9)


def test_before_the_first_record_nothing_counts_and_the_gap_is_told(cluster):
    watch(cluster)
    partition(cluster, since=1800)
    found = read(cluster)
    assert found.totals.partition_ms == 1_800_000
    assert [(one.start, one.end) for one in found.gaps] == [
        ("2026-11-21T02:12:00.000Z", "2026-11-21T02:42:00.000Z")
    ]
    assert (found.start, found.end) == (at(1800), NOW)


@pytest.mark.parametrize(
    "period",
    [
        pytest.param(Period(START - timedelta(days=9), START - timedelta(days=8)), id="too early"),
        pytest.param(Period(START - timedelta(days=200), START - timedelta(days=100)), id="pruned"),
    ],
)
def test_a_period_before_the_first_record_has_no_figure(cluster, period):
    watch(cluster)
    partition(cluster)
    found = read(cluster, period)
    assert (found.totals, found.start, len(found.gaps)) == (None, None, 1)


def test_a_cluster_that_was_never_observed_has_no_figure(cluster):
    found = read(cluster)
    assert (found.totals, found.topics, found.brokers) == (None, (), ())
    assert "not recorded" in found.gaps[0].why


def test_what_was_not_observed_any_more_is_a_gap(cluster):
    watch(cluster, until=1200)
    partition(cluster)
    found = read(cluster)
    assert found.totals.partition_ms == 1_200_000
    assert (found.end, found.gaps[-1].end) == (at(1200), "2026-11-21T03:12:00.000Z")


def test_polls_that_were_missed_are_gaps(cluster):
    watch(cluster, source="poll")
    partition(cluster)
    begin_s = int(START.timestamp())
    for place in [*range(0, 600, 10), *range(1200, 3600, 10)]:
        sample(cluster, begin_s + place)
    span(cluster, 500, 1300)
    found = read(cluster)
    assert (found.totals.partition_ms, found.totals.leaderless_ms) == (3_000_000, 200_000)
    assert [(one.start, one.end, one.why) for one in found.gaps] == [
        ("2026-11-21T02:22:00.000Z", "2026-11-21T02:32:00.000Z", "Partitions were not polled.")
    ]


def test_older_polls_are_known_by_the_minutes_that_are_kept(cluster):
    watch(cluster, source="poll")
    partition(cluster)
    begin_s = int(START.timestamp())
    for place in [*range(0, 600, 60), *range(900, 1800, 60)]:
        sample(cluster, begin_s + place, 60)
    for place in range(1800, 3600, 10):
        sample(cluster, begin_s + place)
    assert read(cluster).totals.partition_ms == 3_300_000


def test_partitions_of_a_deleted_topic_count_from_creation_to_deletion(cluster):
    story = Story(cluster)
    watch(cluster, log_id=story.log.pk)
    partition(cluster)
    story.topic("clicks", 2, seconds=3000)
    for number in (0, 1):
        story.partition("clicks", number, 1000, 1, cause="topic_deleted", is_removed=True)
    SeveritySpan.objects.create(
        cluster=cluster, key="clicks-id:1", topic="clicks", partition=1, severity=4, source="log",
        began_at=story.at(2000), ended_at=story.at(1990),
    )  # fmt: skip
    found = {one.name: one for one in read(cluster).topics}
    assert (found["clicks"].partitions, found["clicks"].partition_ms) == (2, 4_000_000)
    assert found["clicks"].leaderless_ms == 10_000
    assert read(cluster).outages[0].href == ""


def test_a_polled_deletion_counts_where_the_topics_name_is_known(cluster):
    watch(cluster, source="poll")
    partition(cluster)
    for place in range(0, 3600, 10):
        sample(cluster, int(START.timestamp()) + place)
    for key in ("known-id:0", "other-id:0"):
        for seconds, state in ((100, {}), (400, None)):
            PolledMoment.objects.create(
                cluster=cluster, key=key, at=at(seconds), cause="polled", state=state
            )
    SeveritySpan.objects.create(
        cluster=cluster, key="known-id:0", topic="known", partition=0, severity=1, source="poll",
        began_at=at(100), ended_at=at(400),
    )  # fmt: skip
    found = read(cluster)
    assert {one.name: one.partition_ms for one in found.topics}["known"] == 300_000
    assert found.totals.partitions == 2
    assert "1 deleted partitions are left out" in found.notes[0]


def test_spans_that_began_in_the_period_are_churn_of_broker_and_rack(cluster):
    watch(cluster)
    partition(cluster)
    for broker, rack in ((1, "dc-a"), (2, "dc-a"), (3, "")):
        BrokerStatus.objects.create(
            cluster=cluster, broker_id=broker, rack=rack, is_there=True, since=NOW, source="log"
        )
    told_spans = [
        (1, 10, 20),
        (1, 100, 400),
        (2, -5, 50),
        (2, 3590, None),
        (3, 5, 6),
        (1, 9000, None),
    ]
    for broker, begin, end in told_spans:
        OutOfSyncSpan.objects.create(
            cluster=cluster, key=f"orders:{begin}", topic="orders", partition=0, source="log",
            broker=broker, began_at=at(begin), ended_at=None if end is None else at(end),
        )  # fmt: skip
    found = read(cluster)
    assert [(one.name, one.spans, one.total_ms, one.median_ms) for one in found.brokers] == [
        ("1", 2, 310_000, 155_000),
        ("2", 1, 10_000, 10_000),
        ("3", 1, 1_000, 1_000),
    ]
    assert [(one.name, one.spans, one.total_ms) for one in found.racks] == [("dc-a", 3, 320_000)]


def test_partitions_that_fell_together_are_one_outage(cluster):
    watch(cluster)
    for number in range(3):
        partition(cluster, number=number)
        span(cluster, 100, 160, number=number)
    span(cluster, 200, None, severity=3, cause="isr_shrink", cause_broker=3)
    found = read(cluster).outages
    assert [(one.first_partition, one.partitions, one.ms, one.cause) for one in found] == [
        ("orders-0", 1, 3_400_000, "Broker 3 fell behind"),
        ("orders-0", 3, 60_000, "Broker 2 was fenced"),
    ]
    assert (found[0].end, found[1].end) == (None, at(160))
    assert found[1].href.startswith("/availability/east/partitions/orders/0/?from=")


def test_topics_are_internal_remote_or_of_users(cluster):
    watch(cluster)
    make_topic(cluster, "strange", is_internal=True)
    for topic in ("strange", "__consumer_offsets", "mm2-offset-syncs.west.internal", "orders"):
        partition(cluster, topic)
    found = read(cluster)
    assert {one.name: one.partitions for one in found.classes} == {
        "Internal topics": 3,
        "User topics": 1,
    }


def test_unclean_elections_of_the_period_are_listed(cluster):
    watch(cluster)
    partition(cluster)
    for seconds in (-1, 0, 10, 3600):
        UncleanElection.objects.create(
            cluster=cluster, key="orders:0", topic="orders", partition=0, at=at(seconds), leader=3,
            isr_before=[1, 2],
        )  # fmt: skip
    found = read(cluster)
    assert (found.unclean_count, [one.at for one in found.unclean]) == (2, [at(0), at(10)])


def test_the_verdict_is_for_the_end_of_the_period_where_the_log_knows_it(cluster):
    story = Story(cluster)
    watch(cluster, log_id=story.log.pk)
    story.brokers()
    story.topic(seconds=3500)
    story.setting("orders", "2", 3500)
    story.partition("orders", 0, 1000, 1, 2)
    MetadataChange.objects.update(epoch=2)
    then = read(cluster, Period(START, at(2000))).outlook
    assert (then.is_at_end, then.snapshot_at) == (True, at(2000))
    assert [(one.rack, one.unwritable) for one in then.losses] == [
        ("dc-a", 0), ("dc-b", 0), ("dc-c", 0)
    ]  # fmt: skip
    later = read(cluster, Period(START, at(3000))).outlook
    assert [(one.rack, one.unwritable) for one in later.losses] == [
        ("dc-a", 1), ("dc-b", 1), ("dc-c", 0)
    ]  # fmt: skip


def test_without_a_log_the_verdict_is_of_the_newest_snapshot_and_says_so(cluster):
    watch(cluster)
    partition(cluster)
    outlook = read(cluster, Period(START, at(2000))).outlook
    assert not outlook.is_at_end
    assert "crosslog has no metadata log of east" in outlook.why


def test_what_was_deleted_counts_also_where_everything_that_is_there_is_newer(cluster):
    story = Story(cluster)
    watch(cluster, log_id=story.log.pk)
    story.topic("clicks", seconds=4000)
    story.partition("clicks", 0, 1000, 1, cause="topic_deleted", is_removed=True)
    partition(cluster, since=3000)
    found = read(cluster)
    assert {one.name: one.partition_ms for one in found.topics} == {
        "clicks": 2_600_000,
        "orders": 600_000,
    }
    assert found.gaps == ()


@pytest.mark.parametrize(
    "topic",
    ["o" * 249, "=1+1", "\u202eabc", "a/b?c#d", "<b>"],
    ids=["long", "formula", "rtl", "path", "tag"],
)
def test_names_of_any_kind_have_figures_and_links(cluster, topic):
    watch(cluster)
    partition(cluster, topic)
    span(cluster, 5, 9, topic)
    found = read(cluster)
    content = build(availability.AvailabilityRecorded(PERIOD, (found,)), None)
    tables = {one.name: one for one in content.sections[0].blocks if hasattr(one, "rows")}
    assert tables["availability-topics-east"].rows[0][0] == topic
    assert tables["outages-east"].rows[0][4] == f"{topic}-0"
    links = [*tables["availability-topics-east"].hrefs, *tables["outages-east"].hrefs]
    assert all(one.isascii() and one.startswith("/availability/east/partitions/") for one in links)
