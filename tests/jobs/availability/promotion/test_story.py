"""Advice and guard together over time: whatever happens to the brokers, they never flap and always revert."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.promotion.advice import AdviceAction, Mode, PromotionFacts
from jobs.availability.promotion.advisor import advise
from jobs.availability.promotion.observer_findings import PromotionHistory, update_history
from jobs.availability.promotion.preconditions import (
    PreconditionRules,
    PreconditionState,
    check_preconditions,
    keys_after,
)
from tests.examples import examples
from tests.jobs.availability.partitions import LEVEL, NOW_MS, RACKS, partition, policy, seen_again

SYNC, OBSERVERS = (1, 2, 3, 4), (5, 6)
TICK_MS = 5_000
RULES = PreconditionRules(mode=Mode.ACT, opted_in=frozenset({"orders"}), cooldown_ms=60_000)
POLICY = policy(hold_ms=20_000)


@dataclass
class Story:
    """One partition, its observers as fenced standbys, and somebody who follows the advice."""

    now_ms: int = NOW_MS
    promoted: set = field(default_factory=set)
    tracked: PromotionHistory = field(default_factory=PromotionHistory)
    ended: dict = field(default_factory=dict)
    done: list = field(default_factory=list)
    epoch: int = 1
    model: object = None

    def tick(self, alive, *, has_quorum=True):
        """Let a moment pass with these sync replicas alive; at most one action follows."""
        self.now_ms += TICK_MS
        self._settle(alive)
        self.tracked = update_history(self.tracked, self.model, POLICY.policy, self.now_ms)
        told = advise(self.model, self._facts(alive, has_quorum), POLICY, self.now_ms)
        state = PreconditionState(
            is_dry_run_done=True, last_ended_ms=dict(self.ended), has_quorum=has_quorum
        )
        current = seen_again(told.evidence, at_ms=self.now_ms)
        if not check_preconditions(told, current, RULES, state, self.now_ms):
            self._act(told)
            self._settle(alive)
        return told

    def _act(self, told):
        self.done.append((self.now_ms, told.action, told.observer, self.model))
        if told.action is AdviceAction.PROMOTE:
            self.promoted.add(told.observer)
        else:
            self.promoted.discard(told.observer)
        self.ended |= dict.fromkeys(keys_after(told), self.now_ms)

    def _settle(self, alive):
        """Kafka's part: the ISR is who lives; without a leader it waits for one of the ELR."""
        before = self.model or partition(SYNC)
        living = set(alive) | (self.promoted if before.leader is not None else set())
        isr = tuple(one for one in (*SYNC, *OBSERVERS) if one in living)
        if before.leader is None:
            isr = tuple(one for one in before.elr if one in alive)
        self.epoch += isr != before.isr
        elr = () if len(isr) >= 3 else tuple({*before.elr, *before.isr} - set(isr))
        self.model = replace(before, isr=isr, leader=isr[0] if isr else None, elr=elr)

    def _facts(self, alive, has_quorum):
        return PromotionFacts(
            at_ms=self.now_ms,
            racks=RACKS,
            alive=frozenset({*alive, *OBSERVERS}),
            standbys=frozenset(OBSERVERS),
            standings=dict.fromkeys(OBSERVERS, LEVEL),
            has_quorum=has_quorum,
            leader_epoch=self.epoch,
            partition_epoch=self.epoch,
            high_watermark=100,
            promoted_since_ms=self.tracked.promoted_since_ms,
            recovered_since_ms=self.tracked.recovered_since_ms,
        )


ALIVE = st.frozensets(st.sampled_from(SYNC))
TICKS = st.lists(st.tuples(ALIVE, st.booleans()), min_size=1, max_size=60)


@given(ticks=TICKS)
@examples(150)
def test_whatever_happens_no_rule_of_acting_is_broken(ticks):
    story = Story()
    for alive, has_quorum in ticks:
        story.tick(alive, has_quorum=has_quorum)
    last_of, demoted = {}, None
    for at_ms, action, observer, model in story.done:
        # Never without a live leader.
        assert model.leader is not None
        # Never twice at the same time, and never the same broker within the cooldown.
        assert observer not in last_of or at_ms - last_of[observer] >= RULES.cooldown_ms
        if action is AdviceAction.PROMOTE:
            assert len(model.isr) < model.min_insync_replicas
            assert demoted is None or at_ms - demoted >= RULES.cooldown_ms
        else:
            # Never before the sync replicas alone are enough.
            assert len(set(model.isr) & set(SYNC)) >= model.min_insync_replicas
            demoted = at_ms
        last_of[observer] = at_ms
    times = [at_ms for at_ms, *_ in story.done]
    assert len(times) == len(set(times))


@given(ticks=TICKS)
@examples(100)
def test_a_promotion_is_always_taken_back_when_all_is_well_again(ticks):
    story = Story()
    for alive, has_quorum in ticks:
        story.tick(alive, has_quorum=has_quorum)
    for _ in range(60):
        story.tick(SYNC)
    assert story.promoted == set()
    assert set(story.model.isr) == set(SYNC)


@given(ticks=TICKS)
@examples(100)
def test_when_all_is_well_nothing_is_done_for_ever(ticks):
    story = Story()
    for alive, has_quorum in ticks:
        story.tick(alive, has_quorum=has_quorum)
    for _ in range(60):
        story.tick(SYNC)
    before = len(story.done)
    for _ in range(20):
        assert story.tick(SYNC).action is AdviceAction.NONE
    assert len(story.done) == before


def test_a_site_that_dies_is_replaced_by_one_observer_and_comes_back():
    story = Story()
    for _ in range(3):
        story.tick((3, 4))
    assert [(action, observer) for _, action, observer, _ in story.done] == [("promote", 5)]
    assert story.model.isr == (3, 4, 5)
    for _ in range(20):
        story.tick(SYNC)
    assert [(action, observer) for _, action, observer, _ in story.done][1:] == [("demote", 5)]


def test_two_observers_follow_each_other_without_a_cooldown_between_them():
    story = Story()
    story.tick((4,))
    story.tick((4,))
    assert [observer for _, _, observer, _ in story.done] == [5, 6]


def test_a_replica_that_flaps_does_not_make_observers_flap():
    story = Story()
    for number in range(120):
        story.tick((1, 2) if number % 2 else (1, 2, 3))
    assert [action for _, action, _, _ in story.done] == ["promote"]
