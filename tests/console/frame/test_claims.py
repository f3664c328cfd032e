"""Claims: a job has one owner, and only its owner writes how it ends."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from console.frame.claims import (
    CLAIM,
    ClaimLost,
    ending,
    is_free,
    owned,
    release,
    renew,
    take,
    take_one,
)
from console.frame.errors import ActionRefused
from console.reports.models import LIVE, ReportRun, RunState
from jobs.cluster.errors import InvalidFields, Unreachable

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
LATER = NOON + CLAIM + timedelta(seconds=1)


def make_job(**fields):
    values = {"kind": "quorum", "period_start": NOON, "period_end": NOON, "created_at": NOON}
    return ReportRun.objects.create(**values | fields)


def take_job(now=NOON):
    return take_one(ReportRun.objects.filter(state__in=LIVE), now, state=RunState.BUILDING)


def end(job, error=""):
    return release(job, state=RunState.FAILED, error=error)


@pytest.fixture
def job(db):
    return make_job()


def test_a_job_is_taken_once_and_returned_as_it_is_then(job):
    taken = take_job()
    assert (taken.pk, taken.state, taken.claimed_until) == (job.pk, "building", NOON + CLAIM)
    assert take_job() is None


def test_a_taken_job_is_free_when_its_claim_is_over(job):
    take_job()
    assert not ReportRun.objects.filter(is_free(NOON + CLAIM)).exists()
    assert take_job(LATER).claimed_until == LATER + CLAIM


def test_a_job_that_another_process_has_is_passed_over(job):
    other = make_job(created_at=NOON - CLAIM)
    assert {take_job().pk, take_job().pk} == {job.pk, other.pk}


def test_a_claim_may_be_of_any_length(job):
    assert take(ReportRun.objects.all(), NOON, timedelta(minutes=15))
    assert take_job(LATER) is None


def test_a_renewed_job_stays_taken(job):
    taken = take_job()
    renew(taken, NOON + CLAIM)
    assert take_job(LATER) is None
    assert end(taken)


def test_a_lost_claim_is_not_renewed(job):
    lost = take_job()
    take_job(LATER)
    with pytest.raises(ClaimLost):
        renew(lost, LATER)


def test_an_end_is_written_once_and_by_the_owner(job):
    lost, owner = take_job(), take_job(LATER)
    assert not end(lost, "late")
    assert end(owner, "first")
    assert not end(owner, "second")
    job.refresh_from_db()
    assert (job.state, job.error, job.claimed_until) == ("failed", "first", None)


def test_what_a_lost_job_would_write_meanwhile_is_not_written(job):
    lost = take_job()
    take_job(LATER)
    assert owned(lost).update(headline="late") == 0


def told(error, *expected):
    """Return what `ending` says of an error: sentences, and the error itself."""
    found = []
    with ending(ReportRun(pk=1), "testing", lambda *each: found.append(each), *expected):
        raise error
    return found


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ActionRefused("gone", "It is gone."), "It is gone."),
        (InvalidFields({"port": "Not a number."}), "port: Not a number."),
        (
            Unreachable("no broker answered", cluster="east", hint="Start it."),
            "east: no broker answered Start it.",
        ),
        (KeyError("known"), "'known'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_with_a_sentence_ends_the_job_with_it(error, sentence, caplog):
    assert told(error, KeyError) == [(sentence, error)]
    assert caplog.text == ""


def test_a_fault_of_the_program_ends_the_job_and_is_logged(caplog):
    ((sentence, _),) = told(ValueError("boom"))
    assert sentence.startswith("crosslog failed while testing: a fault of the program.")
    assert "job broke job=reports.ReportRun 1" in caplog.text
    assert "boom" in caplog.text


def test_a_job_that_lost_its_claim_is_left_to_its_owner(caplog):
    assert told(ClaimLost()) == []
    assert "claim lost job=reports.ReportRun 1" in caplog.text


def test_a_job_without_an_error_is_not_ended():
    with ending(ReportRun(pk=1), "testing", pytest.fail):
        pass


def test_a_job_that_says_nothing_more_ends_with_its_state_and_the_sentence(job):
    with ending(take_job(), "testing", state=RunState.FAILED, finished_at=NOON):
        raise ActionRefused("gone", "It is gone.")
    job.refresh_from_db()
    assert (job.state, job.error, job.finished_at) == ("failed", "It is gone.", NOON)
    assert job.claimed_until is None


class Worker:
    """A worker whose job is cut into its writes: the claim, renewals, the end."""

    def __init__(self):
        self.job, self.ends = None, 0

    def begin(self, now):
        self.job = self.job or take_job(now)

    def renew(self, now):
        if self.job is not None:
            with ending(self.job, "testing", pytest.fail):
                renew(self.job, now)

    def end(self, now):
        if self.job is not None:
            self.ends += end(self.job, "It ended.")

    def die(self, now):
        self.job = None


class TestInterleavings(TestCase):
    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["begin", "renew", "end"]), st.sampled_from([0, 1]))
        ),
        death=st.integers(0, 20),
        pause_s=st.integers(1, 200),
    )
    def test_any_order_of_two_workers_and_a_death_leaves_the_same_row(self, steps, death, pause_s):
        job, workers, now = make_job(), [Worker(), Worker()], NOON
        steps.insert(death, ("die", 0))
        for step, who in steps:
            now += timedelta(seconds=pause_s)
            before = ReportRun.objects.values().get(pk=job.pk)
            had = workers[who].job
            is_owner = had is not None and had.claimed_until == before["claimed_until"]
            getattr(workers[who], step)(now)
            after = ReportRun.objects.values().get(pk=job.pk)
            # A worker that has a job, but lost its claim, changes nothing.
            assert after == before or is_owner or (had is None and step == "begin")
        now += CLAIM + timedelta(seconds=pause_s)
        last = Worker()
        for worker in (last, *workers):
            worker.begin(now)
            worker.end(now)
        job.refresh_from_db()
        assert (job.state, job.error, job.claimed_until) == ("failed", "It ended.", None)
        assert sum(worker.ends for worker in (last, *workers)) == 1
