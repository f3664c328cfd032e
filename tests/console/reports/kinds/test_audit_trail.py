"""The audit trail report against entries."""

from datetime import timedelta

import pytest

from console.accounts.models import AuditEntry
from console.reports.kinds import audit_trail
from console.reports.kinds.asked import Asked
from console.reports.models import ReportRun
from jobs.reports.kinds.audit_trail import NO_NAME, build
from jobs.reports.periods import Period
from tests.console.making import NOW, make_user

pytestmark = pytest.mark.django_db
START = NOW - timedelta(hours=1)
PERIOD = Period(START, NOW)


def entry(seconds, name="ann", action="pause", subject="flow:1", outcome="done", **more):
    at = START + timedelta(seconds=seconds)
    AuditEntry.objects.create(
        at=at, actor_name=name, action=action, subject=subject, outcome=outcome, **more
    )


def read(period=PERIOD):
    return audit_trail.read(Asked(period, [], make_user("admin"), now=NOW))


def test_attempts_are_counted_by_person_and_by_subject():
    told = [
        (-1, "ann", "flow:1", "done"), (0, "ann", "flow:1", "done"), (5, "ann", "flow:2", "refused"),
        (6, "bob", "flow:1", "failed"), (7, "", "person:x", "failed"), (3600, "ann", "flow:1", "done"),
    ]  # fmt: skip
    for seconds, name, subject, outcome in told:
        entry(seconds, name, subject=subject, outcome=outcome)
    found = read()
    people = {one.name: (one.done, one.refused, one.failed) for one in found.people}
    assert people == {"ann": (1, 1, 0), "bob": (0, 0, 1), NO_NAME: (0, 0, 1)}
    subjects = {one.name: one.total for one in found.subjects}
    assert subjects == {"Flow: 1": 2, "Flow: 2": 1, "User: x": 1}
    assert (found.totals.total, len(found.entries), found.subject_count) == (4, 4, 3)


def test_subjects_are_named_and_those_of_one_name_counted_together():
    run = ReportRun.objects.create(
        kind="quorum", name="Weekly", person=make_user("admin"), period_start=START, period_end=NOW,
        trigger="person", state="ready", created_at=NOW, keep_days=1,
    )  # fmt: skip
    entry(1, subject=f"report-run:{run.pk}")
    removed = "report-run:9b2c3f7e-0000-4000-8000-000000000000"
    entry(2, subject=removed, before={"name": "Weekly"})
    found = read()
    assert [(one.name, one.total, one.href) for one in found.subjects] == [
        ("Report: Weekly", 2, "/audit/")
    ]
    assert ({one.subject for one in found.entries}, found.subject_count) == ({"Report: Weekly"}, 1)


def test_sign_ins_that_failed_are_counted():
    entry(1, action="sign-in")
    entry(2, "", "sign-in", "person:ann", "failed")
    entry(3, "", "sign-in", "person:(unknown)", "failed")
    assert (read().sign_ins.done, read().sign_ins.failed) == (1, 2)


def test_only_the_newest_entries_are_listed_and_all_are_counted():
    entries = [
        AuditEntry(at=START + timedelta(milliseconds=n), action="x", subject=f"s:{n}")
        for n in range(audit_trail.MOST_ENTRIES + 5)
    ]
    AuditEntry.objects.bulk_create(entries)
    table = build(read(), None).sections[3].blocks[0]
    assert (len(table.rows), table.total) == (audit_trail.MOST_ENTRIES, len(entries))
    assert table.rows[0][4] == f"S: {len(entries) - 1}"
    subjects = build(read(), None).sections[2].blocks[0]
    assert (len(subjects.rows), subjects.total) == (audit_trail.MOST_SUBJECTS, len(entries))


def test_a_row_leads_to_the_entries_of_its_person_and_subject():
    entry(1, "a&b", subject="topic:x y", token_name="ci (abc)")
    found = read()
    assert found.people[0].href == "/audit/?actor=a%26b"
    assert found.entries[0].href == "/audit/?subject=topic%3Ax+y"
    assert found.entries[0].token == "ci (abc)"


def test_before_the_first_entry_nothing_is_known():
    entry(1)
    found = read(Period(START - timedelta(days=2), START - timedelta(days=1)))
    content = build(found, None)
    assert (found.start, content.verdicts[0].word) == (None, "Unknown")
    assert content.sections[0].gaps[0].why == "The audit log begins later."


def test_a_trail_that_begins_in_the_period_says_so():
    entry(600)
    section = build(read(), None).sections[0]
    assert (section.start, section.gaps[0].end) == ("2026-11-21T02:22:00.000Z",) * 2
