"""The availability report as a document."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobs.reports.document import Gap, Table
from jobs.reports.kinds.clusters.availability import MOST_TOPICS, build
from jobs.reports.kinds.clusters.availability_recorded import (
    AvailabilityRecorded,
    ClusterAvailability,
    IsrChurn,
    Outage,
    PeakSample,
    RackLoss,
    RackOutlook,
    UncleanElection,
)
from jobs.reports.kinds.clusters.partition_time import TimeTotals
from jobs.reports.kinds.kind import OpenStep
from jobs.reports.values import stamp
from jobs.severity import Severity
from tests.jobs.reports.kinds.golden_documents import ODD, WEEK, check_golden, objectives_of

START, END = WEEK.start, WEEK.end
HOUR = 3_600_000
# The week of the clock change has 167 hours.
WHOLE = TimeTotals("east", "", 10, 1670 * HOUR, HOUR, 2 * HOUR, HOUR, 2 * HOUR)
SURVIVED = RackLoss("dc-a", 0, 0, 10, has_quorum=True)


def at(hours):
    return START + timedelta(hours=hours)


def cluster(**fields):
    values = {"alias": "east", "start": START, "end": END, "totals": WHOLE, "topic_count": 2}
    return ClusterAvailability(**values | fields)


def told(*clusters, before=None):
    return build(AvailabilityRecorded(WEEK, clusters), before)


def full():
    topic = TimeTotals("orders", "User topics", 4, 668 * HOUR, HOUR, 2 * HOUR, HOUR, 2 * HOUR)
    odd = TimeTotals(ODD, "Internal topics", 6, 1002 * HOUR)
    outage = Outage(at(10), at(11), HOUR, True, f"{ODD}-0", 4, "Broker 2 was fenced", "/p/")
    return cluster(
        gaps=(Gap(stamp(at(20)), stamp(at(21)), "Records of the metadata log are missing."),),
        notes=("A note.",),
        classes=(replace(topic, name="User topics", class_name=""),
                 replace(odd, name="Internal topics", class_name="")),
        topics=(odd, topic),
        outages=(outage, replace(outage, end=None, is_leaderless=False, cause="Not known")),
        span_count=8,
        brokers=(IsrChurn("2", "dc-b", 3, 3 * HOUR, HOUR, "/b/"), IsrChurn("4", "", 1, 10, 10)),
        racks=(IsrChurn("dc-b", "dc-b", 3, 3 * HOUR, HOUR, "/b/"),),
        unclean=(UncleanElection(at(5), f"{ODD}-1", 3, (1, 2), "/u/"),
                 UncleanElection(at(5), "a-0", 3, (), "/u/")),
        unclean_count=2,
        outlook=RackOutlook(
            (SURVIVED, RackLoss(ODD, 7, 2, 10, has_quorum=False, href="/w/")), END, True, "", ("A gap.",)
        ),
        peaks=(PeakSample(at(0), 0, 0), PeakSample(at(1), None, None), PeakSample(at(10), 4, 4)),
        href="/availability/east/", topic_href="/t/?from=a",
    )  # fmt: skip


def earlier():
    one = replace(full(), totals=replace(WHOLE, leaderless_ms=0, under_min_isr_ms=HOUR))
    return AvailabilityRecorded(WEEK.before(), (one,))


def test_the_whole_document_is_the_same_as_ever():
    recorded = AvailabilityRecorded(WEEK, (full(),), objectives_of("east", WEEK))
    check_golden("availability", build(recorded, earlier()), WEEK.before())


def test_the_same_rows_in_another_order_are_the_same_document():
    one = full()
    other = replace(
        one, topics=one.topics[::-1], classes=one.classes[::-1], unclean=one.unclean[::-1]
    )
    assert told(one) == told(other)


@pytest.mark.parametrize(
    ("fields", "level", "word"),
    [
        pytest.param({"totals": None}, Severity.UNKNOWN, "Unknown", id="nothing known"),
        pytest.param(
            {"totals": TimeTotals("east", "", 1, HOUR)}, Severity.HEALTHY, "Available", id="all well"
        ),
        pytest.param(
            {"totals": TimeTotals("east", "", 1, HOUR, 0, 1)},
            Severity.WARNING, "Partitions under min ISR", id="under min ISR",
        ),
        pytest.param({}, Severity.CRITICAL, "Partitions leaderless", id="leaderless"),
    ],
)  # fmt: skip
def test_the_verdict_is_the_worst_that_happened(fields, level, word):
    verdicts = told(cluster(**fields)).verdicts
    assert (level, word) in [(one.level, one.word) for one in verdicts]


@pytest.mark.parametrize(
    ("loss", "survives"),
    [
        pytest.param(SURVIVED, True, id="nothing"),
        pytest.param(replace(SURVIVED, unwritable=1), False, id="writes refused"),
        pytest.param(replace(SURVIVED, offline=1), False, id="a partition offline"),
        pytest.param(replace(SURVIVED, has_quorum=False), False, id="no majority"),
    ],
)
def test_a_rack_is_survived_when_writes_leaders_and_quorum_stay(loss, survives):
    content = told(cluster(outlook=RackOutlook((loss,), END, True)))
    words = {one.word for one in content.verdicts}
    assert ("Survives the loss of one rack" in words) == survives
    assert content.sections[-1].blocks[-1].rows[0][1] == survives


def test_a_snapshot_of_another_moment_says_which_and_why():
    outlook = RackOutlook((SURVIVED,), at(500), is_at_end=False, why="The log was pruned.")
    text = told(cluster(outlook=outlook)).sections[-1].blocks[1].text
    assert text.endswith("not the end of the period. The log was pruned.")


def test_of_very_many_topics_the_worst_are_shown_and_all_are_counted():
    topics = tuple(TimeTotals(f"t{n:05}", "User topics", 1, HOUR, 0, n) for n in range(600))
    table = told(cluster(topics=topics, topic_count=600)).sections[0].blocks[2]
    assert (len(table.rows), table.total, table.rows[0][0]) == (MOST_TOPICS, 600, "t00599")


def test_a_topic_that_was_not_there_before_has_no_number_of_before():
    before = AvailabilityRecorded(WEEK.before(), (cluster(topics=()),))
    table = told(full(), before=before).sections[0].blocks[4]
    assert [row[-1] for row in table.rows] == [None, None]


def test_a_report_that_ends_now_has_the_runbooks_with_a_row_for_each_command():
    steps = (
        OpenStep("orders-0 is offline", 1, "Look at it.", ("describe", "elect"), "/book/"),
        OpenStep("orders-0 is offline", 2, "Start the broker.", (), "/book/"),
    )
    (table,) = (
        one
        for one in told(cluster(open_steps=steps)).sections[0].blocks
        if isinstance(one, Table) and one.name == "runbooks-east"
    )
    assert table.rows == (
        ("orders-0 is offline", 1, "Look at it.", "describe"),
        ("orders-0 is offline", 1, "Look at it.", "elect"),
        ("orders-0 is offline", 2, "Start the broker.", None),
    )
    assert table.hrefs == ("/book/",) * 3


def test_an_empty_period_is_a_document_too():
    assert told().sections == ()
    sections = told(ClusterAvailability("east"), before=AvailabilityRecorded(WEEK)).sections
    assert [one.start for one in sections] == [None, None, None]


def test_the_loss_of_a_rack_is_not_judged_where_the_voters_are_not_known():
    unknown = replace(SURVIVED, has_quorum=None)
    verdict = told(cluster(outlook=RackOutlook((SURVIVED, unknown), END, True))).verdicts[1]
    assert (verdict.level, verdict.word) == (Severity.UNKNOWN, "Unknown")
    stops = replace(unknown, unwritable=1)
    sentence = told(cluster(outlook=RackOutlook((stops,), END, True))).verdicts[1].sentence
    assert "the quorum loses" not in sentence


def test_the_loss_of_a_rack_is_not_judged_where_min_isr_is_not_known():
    unknown = replace(SURVIVED, unknown=2)
    verdict = told(cluster(outlook=RackOutlook((SURVIVED, unknown), END, True))).verdicts[1]
    assert (verdict.level, verdict.word) == (Severity.UNKNOWN, "Unknown")
    assert verdict.sentence.startswith("Whether east survives the loss of one rack is not known")
    assert replace(unknown, offline=1).is_survived is False
    assert replace(unknown, has_quorum=False).is_survived is False
