"""Blocking conditions of an advised action, each a sentence with its code. Pure.

Checked before acting, with facts that were read after those of the advice. Unknown facts block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Advice, AdviceAction, Evidence, Mode
from jobs.availability.promotion.expected_times import seconds


class PreconditionCode(StrEnum):
    """Why an action is refused; the value is stable, for programs."""

    STOPPED = "stopped"
    READ_ONLY = "read_only"
    MAINTENANCE = "maintenance"
    NOT_ADVISED = "not_advised"
    ADVICE_ONLY = "advice_only"
    NOT_OPTED_IN = "not_opted_in"
    NOT_ALLOWED = "not_allowed"
    NEEDS_A_PERSON = "needs_a_person"
    NO_DRY_RUN = "no_dry_run"
    ACTOR_UNUSABLE = "actor_unusable"
    ANOTHER_ACTION = "another_action"
    COOLDOWN = "cooldown"
    CLOCK_WENT_BACK = "clock_went_back"
    FACTS_MISSING = "facts_missing"
    FACTS_TOO_OLD = "facts_too_old"
    FACTS_BEFORE_ADVICE = "facts_before_advice"
    NO_QUORUM = "no_quorum"
    NO_LIVE_LEADER = "no_live_leader"
    LEADER_CHANGED = "leader_changed"
    LEADER_EPOCH_CHANGED = "leader_epoch_changed"
    PARTITION_EPOCH_CHANGED = "partition_epoch_changed"
    HIGH_WATERMARK_WENT_BACK = "high_watermark_went_back"
    OBSERVER_FELL_BEHIND = "observer_fell_behind"


@dataclass(frozen=True, slots=True)
class PreconditionRules:
    """What a person allowed. `opted_in` are topics by their exact name; `allowed_brokers` None: any observer.

    `longest_fact_age_ms`: facts that are older when acting are refused.
    """

    mode: Mode = Mode.ADVISE
    opted_in: frozenset[str] = frozenset()
    allowed_brokers: frozenset[int] | None = None
    cooldown_ms: int = 300_000
    longest_fact_age_ms: int = 10_000
    most_lag_records: int = 1_000
    is_dry_run_needed: bool = True


@dataclass(frozen=True, slots=True)
class PreconditionState:
    """The state of the cluster at the moment of acting.

    `is_by_person`: a user confirmed this action, so that it needs no opt-in. `running` are actions not ended
    yet, as sentences like "promotion of broker 5". `last_ended_ms` maps keys of
    `keys_after` to when the last action of that key ended, Unix milliseconds. `actor_problems` are the
    sentences of `actors.catalogue.usability`. `has_quorum` None: unknown.
    """

    is_stopped: bool = False
    is_read_only: bool = False
    in_maintenance: bool = False
    is_by_person: bool = False
    running: tuple[str, ...] = ()
    last_ended_ms: Mapping[str, int] = field(default_factory=dict)
    is_dry_run_done: bool = False
    has_quorum: bool | None = True
    actor_problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreconditionRefusal:
    """One blocking condition of an action, and what to do about it."""

    code: PreconditionCode
    sentence: str
    todo: str = ""


def check_preconditions(
    advice: Advice,
    current: Evidence | None,
    rules: PreconditionRules,
    state: PreconditionState,
    now_ms: int,
) -> tuple[PreconditionRefusal, ...]:
    """Return all blocking conditions of the advised action; empty: it may start.

    `current` is read just before acting; None: it could not be read, which refuses. The stop switch refuses
    promotions only: reverts are allowed.
    """
    return (
        *_switches(advice, state),
        *_permission(advice, rules, state),
        *_one_at_a_time(advice, rules, state, now_ms),
        *_facts(advice, current, rules, now_ms),
    )


def _switches(advice: Advice, state: PreconditionState) -> Iterator[PreconditionRefusal]:
    if state.is_stopped and advice.action is AdviceAction.PROMOTE:
        yield PreconditionRefusal(
            PreconditionCode.STOPPED,
            "The stop switch is on: no promotion starts.",
            "Find out why it was turned on, then turn it off.",
        )
    if state.is_read_only:
        yield PreconditionRefusal(
            PreconditionCode.READ_ONLY,
            "crosslog is read-only: it changes no cluster.",
            "Run the commands of the plan manually, or end the read-only mode.",
        )
    if state.in_maintenance:
        yield PreconditionRefusal(
            PreconditionCode.MAINTENANCE,
            "The cluster is in maintenance: broker restarts are expected.",
            "End the maintenance first.",
        )
    if state.has_quorum is not True:
        no = "has no majority" if state.has_quorum is False else "is not known to have a majority"
        yield PreconditionRefusal(
            PreconditionCode.NO_QUORUM,
            f"The KRaft quorum {no}: no ISR can change.",
            "Check the quorum first.",
        )


def _permission(
    advice: Advice, rules: PreconditionRules, state: PreconditionState
) -> Iterator[PreconditionRefusal]:
    if advice.action not in {AdviceAction.PROMOTE, AdviceAction.DEMOTE}:
        yield PreconditionRefusal(
            PreconditionCode.NOT_ADVISED, f"No action is advised for {advice.place}: {advice.why}"
        )
    if not state.is_by_person:
        yield from _automatic(advice, rules)
    observer, allowed = advice.observer, rules.allowed_brokers
    if observer is not None and allowed is not None and observer not in allowed:
        yield PreconditionRefusal(
            PreconditionCode.NOT_ALLOWED,
            f"Broker {observer} is not on the list of brokers that may be promoted.",
            "Add it to the policy's allowed brokers.",
        )
    if rules.is_dry_run_needed and not state.is_dry_run_done:
        yield PreconditionRefusal(
            PreconditionCode.NO_DRY_RUN,
            "No dry run yet.",
            "Run the dry run and check its plan.",
        )
    for problem in state.actor_problems:
        yield PreconditionRefusal(PreconditionCode.ACTOR_UNUSABLE, problem)


def _automatic(advice: Advice, rules: PreconditionRules) -> Iterator[PreconditionRefusal]:
    if rules.mode is not Mode.ACT:
        yield PreconditionRefusal(
            PreconditionCode.ADVICE_ONLY,
            f"The policy of {advice.topic} is in mode advise.",
            "Set its mode to automatic, or promote manually.",
        )
    if advice.topic not in rules.opted_in:
        yield PreconditionRefusal(
            PreconditionCode.NOT_OPTED_IN,
            f"Automatic actions are not enabled for {advice.topic}.",
            "Enable them for this topic, or promote manually.",
        )
    if not advice.is_automatic_allowed:
        yield PreconditionRefusal(
            PreconditionCode.NEEDS_A_PERSON,
            "This may lose records or copy data: it needs an operator.",
            advice.todo,
        )


def _one_at_a_time(
    advice: Advice, rules: PreconditionRules, state: PreconditionState, now_ms: int
) -> Iterator[PreconditionRefusal]:
    if state.running:
        yield PreconditionRefusal(
            PreconditionCode.ANOTHER_ACTION,
            f"Another action is in progress: {state.running[0]}.",
            "Wait until it is verified or has failed; one action runs at a time.",
        )
    for key in cooldown_keys(advice):
        ended = state.last_ended_ms.get(key)
        if ended is None:
            continue
        if now_ms < ended:
            yield PreconditionRefusal(
                PreconditionCode.CLOCK_WENT_BACK,
                f"The last action on {key} ended {seconds(ended - now_ms)} in the future: clocks differ.",
                "Correct the clocks.",
            )
        elif now_ms - ended < rules.cooldown_ms:
            left = seconds(rules.cooldown_ms - (now_ms - ended))
            yield PreconditionRefusal(
                PreconditionCode.COOLDOWN,
                f"The last action on {key} ended {seconds(now_ms - ended)} ago; the next one may start "
                f"in {left}.",
                f"Wait {left}, or shorten the policy's cooldown.",
            )


def target_of(advice: Advice) -> str:
    """Return what an action would change: `broker 5` for a fenced standby broker, else `orders-0`."""
    is_broker = advice.actor is ActorKind.FENCED_STANDBY and advice.observer is not None
    return f"broker {advice.observer}" if is_broker else advice.place


def cooldown_keys(advice: Advice) -> tuple[str, ...]:
    """Return the keys whose last action must be a cooldown ago.

    Its own target, so that nothing goes to and fro; and for a promotion the last demotion of its
    partition, so that observers do not take turns. A second observer may follow the first at once: a
    partition that needs two must not wait.
    """
    if advice.action is AdviceAction.PROMOTE:
        return (target_of(advice), f"demotion of {advice.place}")
    return (target_of(advice),)


def keys_after(advice: Advice) -> tuple[str, ...]:
    """Return the keys of `PreconditionState.last_ended_ms` for the end of this action."""
    if advice.action is AdviceAction.DEMOTE:
        return (target_of(advice), f"demotion of {advice.place}")
    return (target_of(advice),)


_AGAIN = "Reload the page: the next evaluation uses the current state."
_NEEDED = {
    "leader_epoch": "the leader epoch",
    "partition_epoch": "the partition epoch",
    "high_watermark": "the high watermark",
}


def _fact(code: str, sentence: str, todo: str = _AGAIN) -> PreconditionRefusal:
    return PreconditionRefusal(PreconditionCode(code), sentence, todo)


def _facts(
    advice: Advice, current: Evidence | None, rules: PreconditionRules, now_ms: int
) -> Iterator[PreconditionRefusal]:
    """Yield why the facts refuse the action; `current` was read after the advice was made.

    Leader, leader epoch and partition epoch must be those of the advice, the high watermark must not be lower
    (it would mean that a leader was cut), and the observer must still be near.
    """
    if current is None:
        what = f"The state of {advice.place} could not be read."
        yield _fact("facts_missing", what, "Check the connection to the cluster.")
        return
    yield from _age(advice, current, now_ms, rules.longest_fact_age_ms)
    yield from _known(advice, current)
    yield from _same(advice, current)
    yield from _observer(advice, current, rules.most_lag_records)


def _age(
    advice: Advice, current: Evidence, now_ms: int, longest_age_ms: int
) -> Iterator[PreconditionRefusal]:
    if current.at_ms < advice.evidence.at_ms:
        ago = seconds(advice.evidence.at_ms - current.at_ms)
        yield _fact("facts_before_advice", f"The facts are {ago} older than those of the advice.")
    age = now_ms - current.at_ms
    if age > longest_age_ms:
        yield _fact(
            "facts_too_old",
            f"The facts are {seconds(age)} old; allowed: {seconds(longest_age_ms)}.",
        )
    elif age < 0:
        yield _fact(
            "clock_went_back",
            f"The facts are from {seconds(-age)} in the future: a clock was set back.",
            "Correct the clocks.",
        )


def _known(advice: Advice, current: Evidence) -> Iterator[PreconditionRefusal]:
    for name, words in _NEEDED.items():
        before, now = getattr(advice.evidence, name), getattr(current, name)
        if name == "partition_epoch" and before is None and now is None:
            # Only the metadata log has it: if that cannot be read, the ISR has to be the same (`_same`).
            continue
        if before is None or now is None:
            when = "when the advice was made" if before is None else "now"
            yield _fact(
                "facts_missing",
                f"{words[0].upper()}{words[1:]} of {advice.place} is unknown {when}.",
            )


def _same(advice: Advice, current: Evidence) -> Iterator[PreconditionRefusal]:
    before = advice.evidence
    if current.leader is None:
        yield _fact(
            "no_live_leader",
            f"{advice.place} has no leader: a promotion needs a live member of the ISR.",
            "Restore an in-sync replica; an unclean election needs an operator.",
        )
    elif current.leader != before.leader:
        yield _fact(
            "leader_changed", f"The leader is {current.leader} now, and was {before.leader}."
        )
    for name, code in (
        ("leader_epoch", "leader_epoch_changed"),
        ("partition_epoch", "partition_epoch_changed"),
    ):
        was, is_now = getattr(before, name), getattr(current, name)
        if was is not None and is_now is not None and was != is_now:
            words = _NEEDED[name].removeprefix("the ")
            yield _fact(code, f"The {words} is {is_now} now, and was {was}.")
    is_told = before.partition_epoch is not None or current.partition_epoch is not None
    if not is_told and {*before.isr} != {*current.isr}:
        then, here = (sorted(one.isr) for one in (before, current))
        yield _fact("partition_epoch_changed", f"The ISR is {here} now, and was {then}.")
    was, is_now = before.high_watermark, current.high_watermark
    if was is not None and is_now is not None and is_now < was:
        yield _fact(
            "high_watermark_went_back",
            f"The high watermark went back from {was:,} to {is_now:,}: a leader truncated its log.",
            "Find out why before any other action.",
        )


def _observer(
    advice: Advice, current: Evidence, most_lag_records: int
) -> Iterator[PreconditionRefusal]:
    lag = current.observer_lag_records
    if advice.action is not AdviceAction.PROMOTE or advice.evidence.observer_lag_records is None:
        return
    allowed = max(most_lag_records, advice.evidence.observer_lag_records)
    if lag is not None and lag > allowed:
        yield _fact(
            "observer_fell_behind",
            f"Lag of observer {advice.observer}: {lag:,} records; allowed: {allowed:,}.",
        )
