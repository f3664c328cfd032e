"""A fenced standby is promoted and demoted as a whole: what all its partitions say together."""

from dataclasses import replace

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import AdviceAction
from jobs.availability.promotion.advisor import advise, by_broker
from tests.jobs.availability.partitions import NOW_MS, facts, partition, policy

HELD = {"recovered_since_ms": NOW_MS - 60_000}


def advice(number, isr, *, actor=ActorKind.FENCED_STANDBY, **known):
    model = replace(partition(isr), partition=number)
    return advise(model, facts(**known), policy(actor=actor), NOW_MS)


def test_one_partition_is_enough_to_promote():
    (told,) = by_broker((advice(0, (1, 2)), advice(1, (1, 2, 3, 4)), advice(2, (1, 2))))
    assert (told.broker_id, told.action) == (6, AdviceAction.PROMOTE)
    assert told.why == "orders-0, orders-2 need broker 6 in the ISR."


def test_a_broker_stays_while_one_partition_needs_it():
    (told,) = by_broker((advice(0, (1, 2, 3, 6), **HELD), advice(1, (1, 2, 6))))
    assert told.action is AdviceAction.NONE
    assert told.why == "orders-1 still needs broker 6 in the ISR."
    assert [one.place for one in told.held_by] == ["orders-1"]


def test_a_broker_stays_while_one_partition_waits_for_its_hold_time():
    (told,) = by_broker(
        (advice(0, (1, 2, 3, 6), **HELD), advice(1, (1, 2, 3, 6), recovered_since_ms=NOW_MS - 1))
    )
    assert told.action is AdviceAction.NONE


def test_a_broker_is_demoted_when_nobody_needs_it():
    told = by_broker(tuple(advice(number, (1, 2, 3, 6), **HELD) for number in range(5)))
    assert [(one.broker_id, one.action) for one in told] == [(6, AdviceAction.DEMOTE)]
    assert "orders-0, orders-1, orders-2 and 2 more" in told[0].why


def test_who_wants_it_wins_over_who_would_let_it_go():
    (told,) = by_broker((advice(0, (1, 2, 3, 6), **HELD), advice(1, (1, 2))))
    assert told.action is AdviceAction.PROMOTE


def test_other_actors_change_no_broker():
    assert by_broker((advice(0, (1,), actor=ActorKind.RELAX_MIN_ISR),)) == ()
