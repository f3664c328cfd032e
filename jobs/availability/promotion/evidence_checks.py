"""What an advice rests on, looked at again just before acting: nothing may have changed since. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.availability.promotion.advice import Advice, AdviceAction, Evidence
from jobs.availability.promotion.expected_times import seconds

_AGAIN = "Look again: the advice is made anew from what is true now."
_NEEDED = {
    "leader_epoch": "the leader epoch",
    "partition_epoch": "the partition epoch",
    "high_watermark": "the high watermark",
}


@dataclass(frozen=True, slots=True)
class FactRefusal:
    """A fact that refuses an action; `code` is a value of `PreconditionCode`."""

    code: str
    sentence: str
    todo: str = _AGAIN


def check_facts(
    advice: Advice,
    current: Evidence | None,
    now_ms: int,
    *,
    longest_age_ms: int,
    most_lag_records: int,
) -> tuple[FactRefusal, ...]:
    """Return why the facts refuse the action; `current` was read after the advice was made.

    Leader, leader epoch and partition epoch must be those of the advice, the high watermark must not be lower
    (it would mean that a leader was cut), and the observer must still be near.
    """
    if current is None:
        what = f"The state of {advice.place} could not be read just now."
        return (FactRefusal("facts_missing", what, "Look whether the cluster answers."),)
    return (
        *_age(advice, current, now_ms, longest_age_ms),
        *_known(advice, current),
        *_same(advice, current),
        *_observer(advice, current, most_lag_records),
    )


def _age(
    advice: Advice, current: Evidence, now_ms: int, longest_age_ms: int
) -> Iterator[FactRefusal]:
    if current.at_ms < advice.evidence.at_ms:
        ago = seconds(advice.evidence.at_ms - current.at_ms)
        yield FactRefusal(
            "facts_before_advice", f"The facts are {ago} older than those of the advice."
        )
    age = now_ms - current.at_ms
    if age > longest_age_ms:
        yield FactRefusal(
            "facts_too_old",
            f"The facts are {seconds(age)} old, and {seconds(longest_age_ms)} are allowed.",
        )
    elif age < 0:
        yield FactRefusal(
            "clock_went_back",
            f"The facts are from {seconds(-age)} in the future: a clock went back.",
            "Set the clocks right.",
        )


def _known(advice: Advice, current: Evidence) -> Iterator[FactRefusal]:
    for name, words in _NEEDED.items():
        before, now = getattr(advice.evidence, name), getattr(current, name)
        if name == "partition_epoch" and before is None and now is None:
            # Only the metadata log tells it: where it may not be read, the ISR has to be the same (`_same`).
            continue
        if before is None or now is None:
            when = "when the advice was made" if before is None else "now"
            yield FactRefusal(
                "facts_missing",
                f"{words[0].upper()}{words[1:]} of {advice.place} is not known {when}.",
            )


def _same(advice: Advice, current: Evidence) -> Iterator[FactRefusal]:
    before = advice.evidence
    if current.leader is None:
        yield FactRefusal(
            "no_live_leader",
            f"{advice.place} has no leader: promotion needs a live member of the ISR.",
            "Bring an in-sync replica back; an unclean election is for a person.",
        )
    elif current.leader != before.leader:
        yield FactRefusal(
            "leader_changed", f"The leader is {current.leader} now, and was {before.leader}."
        )
    for name, code in (
        ("leader_epoch", "leader_epoch_changed"),
        ("partition_epoch", "partition_epoch_changed"),
    ):
        was, is_now = getattr(before, name), getattr(current, name)
        if was is not None and is_now is not None and was != is_now:
            words = _NEEDED[name].removeprefix("the ")
            yield FactRefusal(code, f"The {words} is {is_now} now, and was {was}.")
    is_told = before.partition_epoch is not None or current.partition_epoch is not None
    if not is_told and {*before.isr} != {*current.isr}:
        then, here = (sorted(one.isr) for one in (before, current))
        yield FactRefusal("partition_epoch_changed", f"The ISR is {here} now, and was {then}.")
    was, is_now = before.high_watermark, current.high_watermark
    if was is not None and is_now is not None and is_now < was:
        yield FactRefusal(
            "high_watermark_went_back",
            f"The high watermark went back from {was:,} to {is_now:,}: a leader was cut.",
            "Find out why before anything else is done.",
        )


def _observer(advice: Advice, current: Evidence, most_lag_records: int) -> Iterator[FactRefusal]:
    lag = current.observer_lag_records
    if advice.action is not AdviceAction.PROMOTE or advice.evidence.observer_lag_records is None:
        return
    allowed = max(most_lag_records, advice.evidence.observer_lag_records)
    if lag is not None and lag > allowed:
        yield FactRefusal(
            "observer_fell_behind",
            f"Observer {advice.observer} is {lag:,} records behind now, and {allowed:,} are allowed.",
        )
