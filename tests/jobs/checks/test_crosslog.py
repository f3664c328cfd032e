"""Rules about crosslog itself."""

from datetime import timedelta

import pytest

from jobs.checks import crosslog as rules
from jobs.checks.crosslog import Failed, FollowedLog, LateRounds, ProgramRestart
from jobs.checks.settings import Settings
from jobs.severity import Severity
from tests.console.making import NOW

NONE = Settings()


@pytest.mark.parametrize(
    ("rows", "late_s", "is_found"),
    [(2, 25, True), (2, 5, False), (0, 25, False)],
    ids=["for some time", "for a moment", "no row"],
)
def test_rounds_are_late_when_some_are_for_some_time(rows, late_s, is_found):
    one = LateRounds("flow_rounds", "flows", rows, NOW, late_s)
    assert bool(list(rules.late([one], NONE, NOW))) is is_found


def test_late_rounds_name_the_queue_of_their_worker():
    (found,) = rules.late([LateRounds("quorum", "collect", 2, NOW, 25)], NONE, NOW)
    assert found.sentence == (
        "2 rounds of kind quorum are late. The first is due since 03:12:00 UTC."
    )
    assert found.todo.startswith("Worker of the queue collect: ")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({}, "", id="followed"),
        pytest.param({"heard_at": None}, "", id="not begun"),
        pytest.param(
            {"heard_at": NOW - timedelta(seconds=90)},
            "the last answer was at 03:10:30 UTC",
            id="silent",
        ),
        pytest.param({"error": "Denied."}, "cannot be fetched: Denied.", id="failing"),
        pytest.param({"records_behind": 30_000}, "30,000 records are not read", id="behind"),
    ],
)
def test_a_metadata_log_that_is_not_followed_is_found(fields, said):
    log = FollowedLog(**{"cluster": 1, "alias": "east", "heard_at": NOW} | fields)
    found = list(rules.follower(log, NONE, NOW))
    assert bool(found) is bool(said)
    assert not said or said in found[0].sentence


@pytest.mark.parametrize(
    ("free", "severity"), [(200, None), (99, Severity.WARNING), (49, Severity.CRITICAL)]
)
def test_the_disk_of_crosslog_is_judged_by_its_share_of_free_space(free, severity):
    found = list(rules.disk("/home", 1000, free, NONE))
    assert [one.severity for one in found] == ([severity] if severity else [])


def restart(minutes=5, crash=""):
    return ProgramRestart("flows", NOW - timedelta(minutes=minutes), 120, "flows.log", crash)


def test_restarts_of_a_program_are_one_finding_with_their_count():
    (found,) = rules.programs([restart(9), restart(5)], NONE, NOW)
    assert (found.code, found.subject) == ("program_restarted", "flows")
    assert found.sentence == (
        "Program flows was restarted at 03:07:00 UTC. It had finished no task for 120 s. 2 times."
    )
    assert found.since == NOW - timedelta(minutes=9)


def test_a_crash_is_another_finding_than_a_restart():
    crashed = restart(crash="It was killed by SIGKILL.")
    found = list(rules.programs([restart(), crashed], NONE, NOW))
    assert {one.code for one in found} == {"program_restarted", "program_crashed"}


@pytest.mark.parametrize(
    ("crash", "hours", "is_found"),
    [("", 0.5, True), ("", 2, False), ("Killed.", 2, True), ("Killed.", 25, False)],
)
def test_a_restart_is_shown_for_an_hour_and_a_crash_for_a_day(crash, hours, is_found):
    assert bool(list(rules.programs([restart(hours * 60, crash)], NONE, NOW))) is is_found


@pytest.mark.parametrize(
    ("of", "why", "sentence"),
    [
        (
            rules.NOT_DELIVERED,
            "2 recipients (E-mail)",
            "Report X was not delivered to 2 recipients (E-mail).",
        ),
        (rules.REPORT, "No data.", "Report X failed: No data."),
        (rules.REPORT, "", "Report X failed: no reason is known."),
    ],
    ids=["a delivery", "a report", "no reason"],
)
def test_what_failed_of_reports_is_named_with_why(of, why, sentence):
    (found,) = rules.failed(of, [Failed("report 1", "X", NOW, why)], NONE)
    assert (found.code, found.subject, found.sentence) == (of.id, "report 1", sentence)
