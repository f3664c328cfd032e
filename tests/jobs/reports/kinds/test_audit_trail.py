"""The audit trail report as a document."""

from dataclasses import replace
from datetime import timedelta

from jobs.reports.kinds.audit_trail import (
    NO_NAME,
    AuditCounts,
    AuditEntryRecorded,
    AuditTrailRecorded,
    build,
)
from jobs.severity import Severity
from tests.jobs.reports.kinds.golden_documents import ODD, WEEK, check_golden


def full():
    at = WEEK.start + timedelta(hours=3)
    return AuditTrailRecorded(
        WEEK, WEEK.start + timedelta(hours=1),
        totals=AuditCounts("", 3, 1, 2),
        people=(AuditCounts("ann", 3, 1, 0, "/a/"), AuditCounts(NO_NAME, 0, 0, 2, "/a/")),
        subjects=(AuditCounts(f"flow:{ODD}", 3, 1, 0, "/s/"),),
        subject_count=3,
        sign_ins=AuditCounts("sign-in", 1, 0, 2),
        entries=(AuditEntryRecorded(at, "ann", "ci (ab12)", "pause", f"flow:{ODD}", "refused", "/e/"),),
        href="/audit/",
    )  # fmt: skip


def test_the_whole_document_is_the_same_as_ever():
    before = replace(full(), period=WEEK.before(), start=WEEK.before().start, subject_count=1)
    check_golden("audit-trail", build(full(), before), WEEK.before())


def test_what_was_refused_or_failed_is_in_the_verdict():
    verdict = build(full(), None).verdicts[0]
    assert verdict.level is Severity.WARNING
    assert verdict.sentence == "6 attempts: 3 done, 1 refused, 2 failed. 2 sign-ins failed."


def test_a_subject_that_was_cut_from_the_period_before_has_no_number_there():
    cut = replace(full(), subjects=(), subject_count=900)
    assert build(full(), cut).sections[2].blocks[0].rows[0][-1] is None
    whole = replace(full(), subjects=(), subject_count=0)
    assert build(full(), whole).sections[2].blocks[0].rows[0][-1] == 0


def test_an_empty_period_is_a_document_too():
    content = build(AuditTrailRecorded(WEEK), AuditTrailRecorded(WEEK.before()))
    assert [one.value for one in content.sections[0].blocks[0].figures] == [None] * 7
