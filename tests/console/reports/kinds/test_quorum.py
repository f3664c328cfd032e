"""The quorum report against rows of a metadata log."""

from datetime import UTC, datetime, timedelta

import pytest

from console.quorum.models import ControllerSilence, Kind, MetadataLog
from console.reports.kinds import quorum
from console.reports.kinds.asked import Answer, Asked
from jobs.reports.kinds.clusters.quorum import build
from jobs.reports.periods import Period
from tests.console.making import NOW, make_cluster, make_user
from tests.console.quorum.making import (
    make_change,
    make_election,
    make_finding,
    make_history,
    make_log,
    make_subject,
    make_voter_set,
    voter,
)

pytestmark = pytest.mark.django_db
START = NOW - timedelta(seconds=2000)
PERIOD = Period(START, NOW)


@pytest.fixture
def log():
    return make_log(make_cluster("east"))


def read(log, period=PERIOD, **fields):
    asked = Asked(period, [log.cluster], make_user("viewer"), now=NOW, **fields)
    return quorum.read(asked).clusters[0]


def before(seconds):
    return NOW - timedelta(seconds=seconds)


def broker_changes(log, *told):
    subject = make_subject(log, Kind.BROKER, "4", broker=4)
    for offset, (seconds, state) in enumerate(told, start=10):
        is_removed = state is None
        make_change(
            subject, offset, seconds, state or {}, is_removed=is_removed,
            cause="broker_fenced" if (state or {}).get("is_fenced") else "",
        )  # fmt: skip


UP, DOWN = {"is_fenced": False}, {"is_fenced": True}


def test_voters_at_begin_and_end_with_the_changes_between(log):
    make_history(log)
    found = read(log)
    assert found.voters_before == "1 (5r_-B-v5…), 2 (UJ4ulasz…), 3 (STN8WqjT…)"
    assert found.voters_after == "1 (5r_-B-v5…), 2 (UJ4ulasz…), 3 (kQ2xW0aP…)"
    assert [(one.at, one.change, one.is_committed) for one in found.voter_changes] == [
        (before(1500), "removed 3 · STN8WqjT…", True),
        (before(1200), "added 3 · kQ2xW0aP…", None),
    ]


def test_elections_of_the_period_with_the_leader_at_its_begin(log):
    make_history(log)
    found = read(log)
    assert (found.leader_before, [one.leader for one in found.elections]) == (1, [2, 1])
    figures = {one.label: one for one in build_of(found).sections[0].blocks[2].figures}
    # By hand: 2,900 ms before the first and 400 ms before the second.
    assert figures["Time without an active controller"].value == 3300
    assert figures["Longest time without one"].value == 2900
    assert figures["Longest: ended"].value == "2026-11-21T02:42:00.000Z"


def build_of(*found, earlier=None):
    recorded = quorum.QuorumRecorded(PERIOD, found)
    return build(recorded, quorum.QuorumRecorded(PERIOD.before(), earlier) if earlier else None)


def test_the_time_without_a_controller_is_cut_to_the_period(log):
    make_history(log)
    make_election(log, 260, 1999, 3, gap_ms=60_000)
    figures = {one.label: one for one in build_of(read(log)).sections[0].blocks[2].figures}
    assert figures["Time without an active controller"].value == 1000 + 2900 + 400


@pytest.mark.parametrize(
    ("told", "times", "returned", "fenced_s", "events"),
    [
        pytest.param([(3000, UP)], None, 0, 0, [], id="always there"),
        pytest.param(
            [(3000, UP), (900, DOWN), (600, UP)],
            1, 1, 300, ["Fenced", "Returned"], id="fenced and back",
        ),
        pytest.param([(3000, DOWN), (1900, UP)], 0, 1, 100, ["Returned"], id="fenced at the begin"),
        pytest.param([(3000, UP), (500, DOWN)], 1, 0, 500, ["Fenced"], id="fenced at the end"),
        pytest.param(
            [(900, DOWN), (890, UP)], 0, 0, 10, ["Registered", "Unfenced"], id="a new broker"
        ),
        pytest.param(
            [(3000, UP), (900, DOWN), (800, None)],
            1, 0, 100, ["Fenced", "Unregistered"], id="removed",
        ),
        pytest.param(
            [(3000, UP), (900, DOWN), (800, DOWN | {"incarnation_id": "b"}), (700, UP)],
            1, 1, 200, ["Fenced", "Registered", "Returned"], id="restarted",
        ),
    ],
)  # fmt: skip
def test_brokers_are_fenced_and_return(log, told, times, returned, fenced_s, events):
    broker_changes(log, *told)
    make_subject(log, Kind.FEATURE, "x")
    make_change(make_subject(log, Kind.TOPIC, "t"), 1, 3000, {})
    found = read(log)
    assert [one.event for one in found.broker_events] == events
    rows = [(one.broker, one.times, one.returned, one.fenced_ms) for one in found.brokers]
    assert rows == ([] if times is None else [(4, times, returned, fenced_s * 1000)])


def test_settings_changed_from_one_value_to_another(log):
    make_change(make_subject(log, Kind.TOPIC, "t"), 1, 3000, {})
    name = "o" * 249
    topic = make_subject(log, Kind.CONFIG, f"TOPIC:{name}:retention.ms", topic=name)
    brokers = make_subject(log, Kind.CONFIG, "BROKER::log.cleaner.threads")
    make_change(topic, 2, 2500, {"value": "1"})
    make_change(topic, 3, 500, {"value": "2"})
    make_change(brokers, 4, 400, {"value": "=cmd"})
    make_change(brokers, 5, 300, {"value": "=cmd"}, is_removed=True)
    found = read(log)
    assert [(one.resource, one.name, one.before, one.after) for one in found.configs] == [
        (name, "retention.ms", "1", "2"),
        ("", "log.cleaner.threads", None, "=cmd"),
        ("", "log.cleaner.threads", "=cmd", None),
    ]
    assert found.config_counts == (("BROKER", "", 2), ("TOPIC", name, 1))


def test_feature_levels_that_changed(log):
    make_change(make_subject(log, Kind.TOPIC, "t"), 1, 3000, {})
    feature = make_subject(log, Kind.FEATURE, "metadata.version")
    make_change(feature, 2, 2500, {"level": 20})
    make_change(feature, 3, 500, {"level": 25})
    assert [(one.name, one.before, one.after) for one in read(log).features] == [
        ("metadata.version", 20, 25)
    ]


def test_findings_of_the_period_those_first_that_were_open_at_the_end(log):
    make_history(log)
    make_finding(log, "even_voters", opened_at=before(100))
    make_finding(
        log, "no_quorum", severity="critical", rank=4, opened_at=before(5000), closed_at=NOW
    )
    make_finding(log, "silent_voter", opened_at=before(500), closed_at=before(100))
    make_finding(log, "later", opened_at=NOW)
    make_finding(log, "long_ago", opened_at=before(9000), closed_at=before(5000))
    found = [(one.finding, one.lasted_ms) for one in read(log).findings]
    assert found == [("No quorum", None), ("Even voters", None), ("Silent voter", 400_000)]


def test_a_silence_without_an_election_is_a_time_without_a_controller(log):
    make_history(log)
    ControllerSilence.objects.create(
        log=log, from_offset=700, to_offset=701, from_at=before(500), to_at=before(497)
    )
    found = read(log)
    figures = {one.label: one for one in build_of(found).sections[0].blocks[2].figures}
    assert figures["Time without an active controller"].value == 3000 + 3300
    assert build_of(found).verdicts[0].level == "warning"


def test_a_log_that_begins_later_and_has_gaps_says_so(log):
    gap = {"from_at": before(900).isoformat(), "to_at": before(800).isoformat()}
    MetadataLog.objects.update(gaps=[gap], heard_at=before(300))
    log.refresh_from_db()
    make_change(make_subject(log, Kind.TOPIC, "t"), 1, 1000, {})
    found = read(log)
    assert (found.start, found.end) == (before(1000), before(300))
    assert [(one.start[11:19], one.end[11:19]) for one in found.gaps] == [
        ("02:38:40", "02:55:20"), ("02:57:00", "02:58:40"), ("03:07:00", "03:12:00"),
    ]  # fmt: skip


@pytest.mark.parametrize("has_log", [True, False])
def test_a_period_before_the_first_record_has_no_figure(log, has_log):
    make_history(log)
    cluster = log.cluster
    if not has_log:
        log.delete()
    period = Period(START - timedelta(days=9), START - timedelta(days=8))
    asked = Asked(period, [cluster], make_user("viewer"), now=NOW)
    found = quorum.read(asked).clusters[0]
    assert (found.start, len(found.gaps), found.elections) == (None, 1, ())
    content = build(quorum.QuorumRecorded(period, (found,)), None)
    assert [one.word for one in content.verdicts] == ["Unknown"]


def test_an_analysis_tells_of_silences_or_why_it_does_not(log):
    make_history(log)
    facts = {
        "spans": 2, "total_ms": 9000, "longest_ms": 8000, "from": "2026-11-20T00:00:00.000Z",
        "longest_from": "2026-11-20T01:00:00.000Z", "to": "2026-11-21T00:00:00.000Z",
    }  # fmt: skip
    key = "time-without-controller:east:2026-11-21T02:38:40.000Z"
    found = read(log, answers={key: Answer({"facts": facts}, href="/runs/1/")})
    assert found.controller_time.longest_from == datetime(2026, 11, 20, 1, tzinfo=UTC)
    assert "no controller was active for 9 s in 2 spans" in first_text(found)
    failed = read(log, answers={key: Answer(None, "Out of memory.")})
    assert "failed: Out of memory." in first_text(failed)


def first_text(found):
    return build_of(found).sections[0].blocks[0].sentence.replace("\N{NO-BREAK SPACE}", " ")


def test_what_is_asked_of_a_log_without_an_archive_is_nothing(log, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path
    make_voter_set(log, 1, 100, voter(1))
    asked = Asked(PERIOD, [log.cluster], make_user("viewer"), now=NOW)
    assert quorum.questions(asked) == []
