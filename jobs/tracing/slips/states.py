"""What a record says of its slip: the step that it waits for, all steps, and those that are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jobs.tracing.extractors.extractor import Extractor


class State(NamedTuple):
    """What an extractor found in a record and its topic; None: absent. Many records have the same one."""

    topic: str
    type: str | None = None
    step: str | None = None
    steps: tuple[str, ...] | None = None
    done: tuple[str, ...] | None = None
    remaining: tuple[str, ...] | None = None
    original_topic: str | None = None
    is_failure: bool = False


class Reached(NamedTuple):
    """Where a slip is by one record. `step` is "" where none is known, or left; `plan` is () where unknown.

    `position` is that of the step in the plan, -1: unknown. `repeated`, `disordered`: the first step that
    the list of steps done has too often, or before an earlier one; "" for none.
    """

    topic: str
    type: str
    step: str
    position: int
    plan: tuple[str, ...]
    done: tuple[str, ...]
    has_done: bool
    is_failure: bool
    is_complete: bool
    is_unknown_step: bool
    repeated: str
    disordered: str


def reached(extractor: Extractor, state: State, looked_up: tuple[str, ...] | None) -> Reached:
    """Return where a slip is; `looked_up`: its steps in the lookup topic, None where there are none."""
    done, left = state.done, state.remaining
    plan = state.steps
    if plan is None and left is not None:
        plan = (done or ()) + left
    plan = plan if plan is not None else extractor.steps or looked_up or ()
    is_over = bool(left == () and (done or state.steps)) or bool(
        plan and done and set(plan) <= set(done)
    )
    is_over = is_over and not state.is_failure
    is_end = state.topic in extractor.end_topics and not state.is_failure
    step = "" if is_over else _step(extractor, state, plan)
    done = done or ()
    return Reached(
        state.topic,
        state.type or "",
        step,
        plan.index(step) if step in plan else -1,
        plan,
        done,
        state.done is not None,
        state.is_failure,
        is_end or is_over,
        bool(plan and step and step not in plan),
        next((one for one in done if plan and done.count(one) > max(plan.count(one), 1)), ""),
        _disordered(plan, done),
    )


def _step(extractor: Extractor, state: State, plan: Sequence[str]) -> str:
    known = extractor.topic_steps
    original = state.original_topic if state.is_failure else None
    undone = [one for one in plan if state.done is not None and one not in state.done]
    candidates = (
        known.get(state.topic),
        known.get(original or ""),
        "" if state.topic in extractor.end_topics else None,
        state.step,
        original,
        *(state.remaining or ())[:1],
        *undone[:1],
    )
    return next((one for one in candidates if one is not None), "")


def _disordered(plan: Sequence[str], done: Sequence[str]) -> str:
    """Return the first step done of which the plan has a later one done before; none that is twice in it."""
    latest = -1
    for one in done:
        if plan.count(one) == 1 and done.count(one) == 1:
            if plan.index(one) < latest:
                return one
            latest = plan.index(one)
    return ""
