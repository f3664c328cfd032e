"""Findings open, stay and end without flapping."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jobs.findings import Finding, Life, follow, worst_first
from jobs.replication.findings.codes import LIFE, Code
from jobs.severity import Severity
from tests.jobs.replication.pictures import MINUTE, NOW

ALL = frozenset(Code)


@dataclass
class Known:
    code: str
    subject: str
    opened_at: datetime
    last_seen_at: datetime


def finding(code=Code.NOT_MOVING, subject="", since=None, sentence="s"):
    return Finding(code, Severity.CRITICAL, sentence, "do", subject, since=since)


def test_what_is_certain_opens_at_once_and_began_when_it_says():
    certain = finding(since=NOW - MINUTE)
    assert follow([], {}, [certain], ALL, NOW, LIFE).opened == [(certain, NOW - MINUTE)]


def test_what_the_next_look_may_contradict_opens_with_the_second_one_and_began_with_the_first():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW, LIFE)
    assert (first.opened, first.pending) == ([], {doubtful.key: NOW})
    second = follow([], first.pending, [doubtful], ALL, NOW + MINUTE, LIFE)
    assert second.opened == [(doubtful, NOW)]
    assert second.pending == {}


def test_what_the_next_look_contradicts_never_opens():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW, LIFE)
    assert follow([], first.pending, [], ALL, NOW + MINUTE, LIFE).pending == {}


def test_a_look_that_could_not_judge_it_keeps_it_pending():
    doubtful = finding(Code.TARGET_CUT, "orders-0")
    first = follow([], {}, [doubtful], ALL, NOW, LIFE)
    assert follow([], first.pending, [], frozenset(), NOW + MINUTE, LIFE).pending == first.pending


def opened(seen_ago: timedelta, code=Code.NOT_MOVING):
    return Known(code.value, "", NOW - timedelta(hours=1), NOW - seen_ago)


def test_what_is_seen_again_stays_open_with_its_newest_words():
    change = follow([opened(MINUTE)], {}, [finding(sentence="now 7")], ALL, NOW, LIFE)
    assert [(one.opened_at, seen.sentence) for one, seen in change.kept] == [
        (NOW - timedelta(hours=1), "now 7")
    ]
    assert change.opened == change.closed == []


def test_what_is_not_seen_for_a_moment_stays_open():
    change = follow([opened(MINUTE)], {}, [], ALL, NOW, LIFE)
    assert (change.kept, change.closed) == ([], [])


def test_what_is_not_seen_for_a_while_has_ended_when_it_was_last_seen():
    ((_, ended),) = follow([opened(LIFE.end_after)], {}, [], ALL, NOW, LIFE).closed
    assert ended == NOW - LIFE.end_after


def test_what_was_not_judged_does_not_end():
    change = follow([opened(timedelta(days=1))], {}, [], ALL - {Code.NOT_MOVING}, NOW, LIFE)
    assert (change.kept, change.closed) == ([], [])


def test_without_a_time_to_wait_what_is_not_seen_has_ended():
    ((_, ended),) = follow([opened(MINUTE)], {}, [], None, NOW, Life("quorum")).closed
    assert ended == NOW - MINUTE


def test_what_says_when_it_was_over_has_ended_then():
    past = replace(finding(), ended=NOW - MINUTE)
    change = follow([opened(timedelta())], {}, [past], ALL, NOW, Life("quorum"))
    assert [ended for _, ended in change.closed] == [NOW - MINUTE]
    assert (change.opened, change.past) == ([], [past])


def test_of_two_findings_with_the_same_key_the_worse_one_counts():
    mild = replace(finding(sentence="mild"), severity=Severity.INFO)
    change = follow([], {}, [mild, finding(), mild], ALL, NOW, LIFE)
    assert [one.severity for one, _ in change.opened] == [Severity.CRITICAL]


def test_findings_with_the_same_key_count_once_toward_the_limit():
    same, other = finding(subject="a"), replace(finding(subject="b"), severity=Severity.INFO)
    change = follow([], {}, [same, same, other], ALL, NOW, replace(LIFE, most_open=2))
    assert [one for one, _ in change.opened] == [same, other]


def test_of_more_than_the_limit_critical_ones_come_first_and_then_open_ones():
    mild, worse = (
        replace(finding(subject=s), severity=v)
        for s, v in (("a", Severity.INFO), ("b", Severity.WARNING))
    )
    found = worst_first([mild, worse, finding()], {mild.key})
    assert found == [finding(), mild, worse]
