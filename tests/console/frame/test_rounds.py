"""Rounds: claimed once, written by their owner, due again after their rest; the longest overdue is next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from console.clusters.models import Cluster
from console.frame.rounds import (
    EARLY,
    PARTIAL,
    SHARE_S,
    Kind,
    Outcome,
    Rounds,
    work_through_due,
)
from console.streams.models import StreamsRound
from jobs.cluster.errors import ClusterFault, InvalidFields

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
EVERY_S = 30
ROUNDS: Rounds[Cluster, StreamsRound] = Rounds(
    name="test",
    rows=StreamsRound,
    of="cluster",
    subjects=lambda: Cluster.objects.filter(is_enabled=True),
    every_s=lambda: EVERY_S,
    activity="testing",
)


def make_cluster(alias="east"):
    return Cluster.objects.create(alias=alias, bootstrap_servers="x:1", created_at=NOON)


@pytest.fixture
def cluster(db):
    return make_cluster()


def run(cluster, collect, at=NOON):
    return ROUNDS.run(cluster.pk, lambda *_: collect(), lambda: at)


def raising(error):
    def collect():
        raise error

    return collect


def row_of(cluster):
    return StreamsRound.objects.get(cluster=cluster)


def fault(message="No broker answered."):
    return ClusterFault(message, cluster="east", hint="Start it.")


def test_a_round_that_succeeded_is_due_again_after_its_interval(cluster):
    assert run(cluster, lambda: Outcome({"row_count": 3}))
    row = row_of(cluster)
    assert (row.succeeded_at, row.finished_at, row.failing_since) == (NOON, NOON, None)
    assert (row.row_count, row.error, row.error_code) == (3, "", "")
    assert NOON < row.claimed_until <= NOON + timedelta(seconds=EVERY_S)
    assert ROUNDS.due(NOON) == []
    assert ROUNDS.due(NOON + timedelta(seconds=EVERY_S)) == [cluster.pk]


def test_an_answer_with_gaps_is_a_round_that_succeeded_in_part(cluster):
    run(cluster, lambda: Outcome(missing="2 of 9 groups could not be read."))
    row = row_of(cluster)
    assert (row.error_code, row.succeeded_at, row.failing_since) == (PARTIAL, NOON, None)
    assert row.error == "2 of 9 groups could not be read."


def test_a_failed_round_keeps_its_last_success_and_says_since_when_it_fails(cluster):
    run(cluster, Outcome)
    later = NOON + timedelta(minutes=1)
    assert run(cluster, raising(fault()), later)
    assert run(cluster, raising(fault()), later + timedelta(minutes=1))
    row = row_of(cluster)
    assert (row.succeeded_at, row.failing_since) == (NOON, later)
    assert (row.error, row.hint) == ("No broker answered.", "Start it.")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            InvalidFields({"port": "Not a number."}),
            "The settings are not usable: port: Not a number.",
        ),
        (ValueError("boom"), "crosslog failed while testing"),
    ],
    ids=["settings", "program"],
)
def test_a_round_never_raises(cluster, error, sentence):
    assert run(cluster, raising(error))
    assert row_of(cluster).error.startswith(sentence)


@pytest.mark.django_db(transaction=True)
def test_values_that_no_column_takes_are_a_fault_of_the_round(cluster):
    assert run(cluster, lambda: Outcome({"row_count": "many"}))
    row = row_of(cluster)
    assert (row.failing_since, row.row_count) == (NOON, 0)
    assert row.error.startswith("crosslog failed while testing")
    assert ROUNDS.due(NOON) == []


def test_a_round_with_a_fault_may_write_values_all_the_same(cluster):
    run(cluster, lambda: Outcome({"row_count": 2, "succeeded_at": NOON}, fault=fault()))
    row = row_of(cluster)
    assert (row.row_count, row.succeeded_at, row.failing_since) == (2, NOON, NOON)


def test_a_round_that_is_not_over_is_neither_a_success_nor_a_failure(cluster):
    run(cluster, lambda: Outcome(is_over=False))
    row = row_of(cluster)
    assert (row.succeeded_at, row.failing_since, row.finished_at) == (None, None, NOON)


def test_a_row_that_another_worker_has_claimed_is_not_taken(cluster):
    def collect():
        assert not run(cluster, Outcome)
        return Outcome()

    assert run(cluster, collect)


def test_a_cluster_that_is_switched_off_is_not_collected(cluster):
    Cluster.objects.update(is_enabled=False)
    assert not run(cluster, Outcome)
    assert ROUNDS.due(NOON) == []


def test_a_slow_round_rests_twice_as_long_as_it_took(cluster):
    row = ROUNDS.row_of(cluster)
    assert ROUNDS.claim_row(row, NOON)
    ROUNDS.finish(row, "east", Outcome(), NOON, took_s=60)
    assert row_of(cluster).claimed_until == NOON + timedelta(seconds=120) - EARLY


def test_a_round_that_was_requested_during_a_round_stays_due(cluster):
    def collect():
        StreamsRound.objects.update(claimed_until=None)
        return Outcome({"row_count": 1})

    run(cluster, collect)
    assert row_of(cluster).row_count == 1
    assert ROUNDS.due(NOON) == [cluster.pk]


def test_a_kind_without_rests_is_free_as_soon_as_its_round_ended(cluster):
    at_once = replace(ROUNDS, rests=False)
    for _ in range(2):
        assert at_once.run(cluster.pk, lambda *_: Outcome(), lambda: NOON)


def test_new_subjects_come_first_and_then_the_longest_overdue(db):
    old, older, new = (make_cluster(alias) for alias in ("old", "older", "new"))
    StreamsRound.objects.create(cluster=old, claimed_until=NOON - timedelta(minutes=1))
    StreamsRound.objects.create(cluster=older, claimed_until=NOON - timedelta(minutes=9))
    assert ROUNDS.due(NOON) == [new.pk, older.pk, old.pk]


class Worker:
    """A worker whose round is cut into its two writes: the claim and the end."""

    def __init__(self, count, rounds):
        self.count, self.rounds, self.row = count, rounds, None

    def begin(self, cluster, now):
        row = self.rounds.row_of(cluster)
        self.row = row if self.rounds.claim_row(row, now) else None

    def end(self, now):
        if self.row is not None:
            self.rounds.finish(self.row, "east", Outcome({"row_count": self.count}), now, 0.0)
        self.row = None


class TestInterleavings(TestCase):
    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["begin", "end", "die", "request"]), st.sampled_from([0, 1]))
        ),
        pause_s=st.integers(1, 200),
        rests=st.booleans(),
    )
    def test_any_order_of_two_workers_and_a_death_leaves_the_same_row(self, steps, pause_s, rests):
        """One round at the end, by one worker alone, is the row whatever came before."""
        cluster = make_cluster()
        rounds = replace(ROUNDS, rests=rests)
        workers = [Worker(1, rounds), Worker(2, rounds)]
        now = NOON
        owner = None
        for step, who in steps:
            now += timedelta(seconds=pause_s)
            worker = workers[who]
            if step == "begin" and worker.row is None:
                worker.begin(cluster, now)
                owner = who if worker.row is not None else owner
            elif step == "end" and worker.row is not None:
                before = StreamsRound.objects.values().get(cluster=cluster)
                worker.end(now)
                after = StreamsRound.objects.values().get(cluster=cluster)
                # The round of a worker that lost its claim changes nothing.
                assert (after == before) is (who != owner)
                owner = None if who == owner else owner
            elif step == "die":
                worker.row = None
            elif step == "request" and owner is None:
                StreamsRound.objects.update(claimed_until=None)
        now += ROUNDS.claim + timedelta(seconds=1)
        last = Worker(3, rounds)
        last.begin(cluster, now)
        for worker in workers:
            worker.end(now)
        last.end(now)
        row = StreamsRound.objects.get(cluster=cluster)
        assert (row.row_count, row.succeeded_at) == (3, now)
        assert row.claimed_until == (now + timedelta(seconds=EVERY_S) - EARLY if rests else None)


class Waiting:
    """Clusters that wait; each takes the worker so many seconds."""

    def __init__(self, *names, each_s=0.0):
        self.names, self.each_s = list(names), each_s
        self.now, self.taken = 0.0, []

    def take(self, name):
        self.names.remove(name)
        self.taken.append(name)
        self.now += self.each_s
        return True

    def turns(self):
        kind = Kind(lambda _: list(self.names), self.take)
        return work_through_due(kind, lambda: NOON, lambda: self.now)


def test_a_worker_takes_all_due_rows_in_their_order():
    waiting = Waiting(3, 1, 2)
    assert waiting.turns() == 3
    assert waiting.taken == [3, 1, 2]


def test_a_worker_ends_when_its_share_is_used_up():
    waiting = Waiting(*range(100), each_s=SHARE_S / 2)
    assert waiting.turns() == 2
    assert waiting.taken == [0, 1]


def test_a_row_that_another_worker_has_is_passed_over():
    taken = []

    def take(name):
        if name == 1 or name in taken:
            return False
        taken.append(name)
        return True

    assert work_through_due(Kind(lambda _: [1, 2, 3], take), monotonic=lambda: 0.0) == 2
    assert taken == [2, 3]


def test_a_row_that_breaks_costs_the_others_no_turn(caplog):
    waiting = Waiting(2, 3)

    def take(name):
        if name == 1:
            raise ValueError("its row cannot be made")
        return waiting.take(name)

    assert work_through_due(Kind(lambda _: [1, *waiting.names], take), monotonic=lambda: 0.0) == 2
    assert waiting.taken == [2, 3]
    assert "key=1" in caplog.text


def test_a_database_that_is_away_ends_the_turn():
    def take(name):
        raise OperationalError("server closed the connection")

    with pytest.raises(OperationalError):
        work_through_due(Kind(lambda _: [1, 2], take))


def test_without_a_due_row_there_is_one_query():
    looks = []
    assert work_through_due(Kind(lambda _: looks.append(1) or [], lambda name: True)) == 0
    assert looks == [1]
