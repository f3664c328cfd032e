"""A partition step by step comes to the same stretches as its whole history at once."""

from hypothesis import given

from jobs.availability.status.interval_tracker import PartitionTrack, TrackStep, follow
from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.severity import Severity
from jobs.availability.status.spans import membership_spans
from tests.jobs.availability.status.moments import REPLICAS, at, histories, seen, severity_spans


def steps_of(moments: list[PartitionSeen]) -> list[TrackStep]:
    track: PartitionTrack | None = None
    found = []
    for moment in moments:
        step = follow(track, moment)
        track = step.track
        found.append(step)
    return found


def test_the_first_that_is_heard_begins_everything():
    (step,) = steps_of([seen(0, 1, cause="snapshot", offset=7)])
    assert (step.was_known, step.ended) == (False, None)
    assert step.track.since.at == at(0)
    assert {broker: begin.offset for broker, begin in step.track.out.items()} == {2: 7, 3: 7}


def test_a_step_names_who_left_who_joined_and_who_leads():
    step = steps_of([seen(0, 1, 2), seen(9, 2, 3, cause="isr_changed")])[1]
    assert (step.left, step.joined, step.leaders) == ((1,), (3,), (1, 2))
    assert step.ended is None


def test_the_absence_of_a_replica_keeps_its_begin_while_the_severity_changes():
    steps = steps_of([seen(0, 1, 2, 3), seen(5, 1, 2), seen(9, 1)])
    assert steps[2].track.out[3].at == at(5)
    assert steps[2].track.out[2].at == at(9)
    assert steps[2].ended == (Severity.AT_MIN_ISR, steps[1].track.since)


def test_a_time_that_goes_back_counts_from_the_begin_of_what_it_ends():
    steps = steps_of([seen(10, 1, 2), seen(3, 1, 2, 3)])
    assert steps[1].at == at(10)


@given(moments=histories())
def test_steps_come_to_the_spans_of_the_whole_history(moments):
    spans = severity_spans(moments)
    steps = steps_of(moments)
    ended = [(step.ended[0], step.ended[1].at, step.at) for step in steps if step.ended]
    assert ended == [(span.value, span.start, span.end) for span in spans[:-1]]
    last = steps[-1].track
    assert (last.standing.severity, last.since.at) == (spans[-1].value, spans[-1].start)


@given(moments=histories())
def test_absences_are_the_times_at_which_a_replica_was_missing(moments):
    steps = steps_of(moments)
    for broker in REPLICAS:
        counted = sum(broker in step.left for step in steps) + (broker in steps[0].track.out)
        assert counted - sum(broker in step.joined for step in steps) == (
            broker in steps[-1].track.out
        )
        now = membership_spans(moments, broker)[-1].value
        is_missing = now is not None and now.value in {"out_of_sync", "eligible"}
        assert is_missing == (broker in steps[-1].track.out)
