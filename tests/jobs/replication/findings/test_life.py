"""Findings open, stay and end without flapping."""

from datetime import timedelta

from jobs.replication.findings.finding import Code, Finding
from jobs.replication.findings.life import CLOSE_AFTER, OpenFinding, follow
from jobs.severity import Severity
from tests.jobs.replication.pictures import MINUTE, NOW

ALL = frozenset(Code)


def finding(code=Code.NOT_MOVING, subject="", since=None, sentence="s"):
    return Finding(code, Severity.CRITICAL, sentence, "do", subject, since=since)


def test_what_is_certain_opens_at_once_and_began_when_it_says():
    (opened,) = follow([], {}, [finding(since=NOW - MINUTE)], ALL, NOW).opened
    assert (opened.opened_at, opened.last_seen_at) == (NOW - MINUTE, NOW)


def test_what_the_next_look_may_contradict_opens_with_the_second_one_and_began_with_the_first():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW)
    assert (first.opened, first.pending) == ((), {doubtful.key: NOW})
    second = follow([], first.pending, [doubtful], ALL, NOW + MINUTE)
    assert [one.opened_at for one in second.opened] == [NOW]
    assert second.pending == {}


def test_what_the_next_look_contradicts_never_opens():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW)
    assert follow([], first.pending, [], ALL, NOW + MINUTE).pending == {}


def test_a_look_that_could_not_judge_it_keeps_it_pending():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW)
    assert follow([], first.pending, [], frozenset(), NOW + MINUTE).pending == first.pending


def opened(seen_ago: timedelta, code=Code.NOT_MOVING):
    return OpenFinding(finding(code), NOW - timedelta(hours=1), NOW - seen_ago)


def test_what_is_seen_again_stays_open_with_its_newest_words():
    change = follow([opened(MINUTE)], {}, [finding(sentence="now 7")], ALL, NOW)
    (kept,) = change.kept
    assert (kept.finding.sentence, kept.last_seen_at) == ("now 7", NOW)
    assert kept.opened_at == NOW - timedelta(hours=1)
    assert change.opened == change.closed == ()


def test_what_is_not_seen_for_a_moment_stays_open():
    change = follow([opened(MINUTE)], {}, [], ALL, NOW)
    assert (len(change.waiting), change.closed) == (1, ())


def test_what_is_not_seen_for_a_while_has_ended_when_it_was_last_seen():
    (closed,) = follow([opened(CLOSE_AFTER)], {}, [], ALL, NOW).closed
    assert closed.last_seen_at == NOW - CLOSE_AFTER


def test_what_was_not_judged_does_not_end():
    change = follow([opened(timedelta(days=1))], {}, [], ALL - {Code.NOT_MOVING}, NOW)
    assert (len(change.waiting), change.closed) == (1, ())
