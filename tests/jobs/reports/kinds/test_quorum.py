"""The quorum report as a document, and the lane of the leader."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.reports.document import Gap
from jobs.reports.kinds.clusters.leader_lanes import leader_chart, terms_of, without_controller
from jobs.reports.kinds.clusters.quorum import MOST_ROWS, build
from jobs.reports.kinds.clusters.quorum_recorded import (
    BrokerEvent,
    BrokerFenced,
    ClusterQuorum,
    ControllerTime,
    ElectionRecorded,
    FindingRecorded,
    QuorumRecorded,
    SettingChange,
    Silence,
    VoterChange,
)
from jobs.reports.values import stamp
from jobs.severity import Severity
from tests.jobs.reports.kinds.golden_documents import ODD, WEEK, check_golden

START, END = WEEK.start, WEEK.end


def at(seconds):
    return START + timedelta(seconds=seconds)


def election(seconds, leader, gap_ms=None, *, is_silence=False):
    return ElectionRecorded(at(seconds), 7, leader, gap_ms, (), "/r/", is_silence)


def cluster(**fields):
    values = {"alias": "east", "start": START, "end": END, "leader_before": 1}
    return ClusterQuorum(**values | fields)


def told(*clusters, before=None):
    return build(QuorumRecorded(WEEK, clusters), before)


def full():
    return cluster(
        gaps=(Gap(stamp(at(60)), stamp(at(90)), "Records of the metadata log are missing."),),
        voters_before="1, 2, 3", voters_after="1, 2",
        voter_changes=(VoterChange(at(30), "removed 3", "1, 2", False, "/v/"),),
        elections=(election(1000, 2, 2900, is_silence=True), replace(election(90_000, 1), anomalies=("Epoch jump",))),
        brokers=(BrokerFenced(3, 2, 1, 60_000, "/b/"),),
        broker_events=(BrokerEvent(at(5), 3, "Fenced", "Broker fenced", "/r/"),),
        configs=(SettingChange(at(9), "TOPIC", ODD, "retention.ms", "1", None, "/r/"),),
        config_counts=(("TOPIC", ODD, 1), ("BROKER", "", 3)),
        features=(SettingChange(at(9), "", "", "metadata.version", 20, 25, "/r/"),),
        silences=(Silence(at(5000), at(5003)),),
        findings=(
            FindingRecorded("critical", "No quorum", "2 of 3 voters are away.", "", at(2)),
            FindingRecorded("critical", "Election storm", "7 elections within 515 s.", "", at(9), at(524)),
        ),
        href="/quorum/east/", voters_href="/v/", brokers_href="/b/", settings_href="/s/",
    )  # fmt: skip


def test_the_whole_document_is_the_same_as_ever():
    before = QuorumRecorded(WEEK.before(), (replace(full(), elections=()),))
    check_golden("quorum", told(full(), before=before), WEEK.before())


def config_rows(*changes):
    content = told(cluster(configs=changes, config_counts=(("TOPIC", "orders", len(changes)),)))
    return next(
        t for s in content.sections for t in s.blocks if getattr(t, "title", "") == "Config changes"
    )


def test_the_configs_that_a_topic_was_created_with_are_one_row():
    found = config_rows(
        SettingChange(at(1), "TOPIC", "orders", "retention.ms", None, "604800000", "/r/1/"),
        SettingChange(at(1), "TOPIC", "orders", "cleanup.policy", None, "compact", "/r/2/"),
        SettingChange(at(2), "TOPIC", "orders", "segment.bytes", "1048576", "1073741824", "/r/3/"),
    )
    assert [row[3:] for row in found.rows] == [
        ("2 configs set", None, "retention.ms=604800000 (7\u00a0d), cleanup.policy=compact"),
        ("segment.bytes", "1048576 (1\u00a0MiB)", "1073741824 (1\u00a0GiB)"),
    ]
    assert (found.hrefs, found.total) == (("/r/1/", "/r/3/"), None)


@pytest.mark.parametrize("value", ["-1", "9223372036854775807", "10", "compact"])
def test_a_value_of_a_config_without_a_readable_unit_stays(value):
    found = config_rows(SettingChange(at(1), "TOPIC", "orders", "retention.ms", "1", value))
    assert found.rows[0][-1] == value


PAUSE = Silence(at(200), at(203))
ANALYSED = ControllerTime("/run/", "", 1, 8000, 8000, at(9), is_silence=True)


@pytest.mark.parametrize(
    ("fields", "level", "word", "ms"),
    [
        ({}, Severity.HEALTHY, "Always a controller", 0),
        ({"elections": (election(100, 2),)}, Severity.HEALTHY, "Always a controller", 0),
        ({"elections": (election(100, 2, 400),)}, Severity.HEALTHY, "Time without a controller", 400),
        ({"elections": (election(100, 2, 2900, is_silence=True),)},
         Severity.WARNING, "Time without a controller", 2900),
        ({"silences": (PAUSE,)}, Severity.WARNING, "Time without a controller", 3000),
        ({"silences": (PAUSE,), "elections": (election(100, 2, 400),)},
         Severity.WARNING, "Time without a controller", 3400),
        ({"controller_time": ANALYSED},
         Severity.WARNING, "Time without a controller", 8000),
        ({"controller_time": ANALYSED, "start": None},
         Severity.WARNING, "Time without a controller", 8000),
        ({"gaps": (Gap(stamp(at(1)), stamp(at(2)), "Records are missing."),)},
         Severity.UNKNOWN, "Partly known", 0),
        ({"start": None}, Severity.UNKNOWN, "Unknown", None),
    ],
    ids=["nothing", "no gap known", "the beat of the log", "a long election", "silence without election",
         "both", "by the analysis", "by the analysis alone", "a part is missing", "nothing is known"],
)  # fmt: skip
def test_verdict_and_figure_agree_on_the_time_without_a_controller(fields, level, word, ms):
    content = told(cluster(**fields))
    verdict = content.verdicts[0]
    assert (verdict.level, verdict.word) == (level, word)
    (figures,) = (one for one in content.sections[0].blocks if hasattr(one, "figures"))
    shown = {one.label: one.value for one in figures.figures}
    assert shown["Time without an active controller"] == ms


def test_a_silence_cuts_the_term_of_a_leader():
    terms = terms_of(cluster(silences=(PAUSE,)), START, at(300))
    assert [(t.leader, t.start, t.end) for t in terms] == [
        (1, START, at(200)), (None, at(200), at(203)), (1, at(203), at(300)),
    ]  # fmt: skip


def test_the_leader_changes_with_elections_and_gaps_lie_between():
    one = cluster(elections=(election(10, 2, 3000), election(20, 2, 0), election(30, 1, 99_000)))
    assert [(t.leader, t.start, t.end) for t in terms_of(one, START, at(40))] == [
        (1, START, at(7)), (None, at(7), at(10)), (2, at(10), at(20)), (None, at(20), at(30)),
        (1, at(30), at(40)),
    ]  # fmt: skip


ELECTIONS = st.lists(
    st.tuples(st.integers(0, 99), st.integers(1, 3), st.integers(0, 30_000)), max_size=9
)


@given(ELECTIONS, st.sampled_from([None, 1]))
@example([(5, 1, 9000), (5, 2, 0)], None)
@example([(50, 1, 0), (10, 2, 1000)], 1)
def test_terms_follow_each_other_also_when_clocks_disagree(rows, leader):
    one = cluster(elections=tuple(election(*row) for row in rows), leader_before=leader)
    terms = terms_of(one, START, at(100))
    for before, after in pairwise(terms):
        assert before.end == after.start
        assert before.leader != after.leader
    assert all(term.start < term.end for term in terms)
    if leader is not None:
        assert (terms[0].start, terms[-1].end) == (START, at(100))


@pytest.mark.parametrize(
    ("seconds", "gap_ms", "expected"),
    [(10, 2000, 2000), (1, 5000, 1000), (110, 20_000, 10_000), (5, None, 0)],
)
def test_a_gap_is_cut_to_the_period(seconds, gap_ms, expected):
    one = cluster(elections=(election(seconds, 1, gap_ms),))
    assert sum(span.ms for span in without_controller(one, START, at(100))) == expected


def test_terms_too_short_to_be_seen_are_not_drawn():
    rows = tuple(election(n * 10, n % 3, 100) for n in range(1, 60_000))
    series = leader_chart(cluster(elections=rows)).series[0]
    assert len(series.x) == len(series.ends) == len(series.values) <= 1000


def test_of_very_many_elections_the_newest_are_listed():
    rows = tuple(election(n, 1) for n in range(MOST_ROWS + 3))
    table = told(cluster(elections=rows)).sections[0].blocks[5]
    assert (len(table.rows), table.total, table.rows[0][0]) == (
        MOST_ROWS,
        MOST_ROWS + 3,
        stamp(at(3)),
    )


def test_an_empty_period_is_a_document_too():
    content = told(ClusterQuorum("east"), before=QuorumRecorded(WEEK.before()))
    assert [one.word for one in content.verdicts] == ["Unknown"]
    assert leader_chart(ClusterQuorum("east")) is None
