"""What the advice about partitions means for whole brokers, which standbys are promoted as. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import Advice, AdviceAction

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class BrokerAdvice:
    """Advice about one whole broker: a fenced standby is promoted or demoted for all its partitions at once.

    `because` are the partitions that ask for it. `held_by` keep it in the ISR although others would let it
    go.
    """

    broker_id: int
    action: AdviceAction
    why: str
    because: tuple[Advice, ...]
    held_by: tuple[Advice, ...] = ()


def by_broker(advices: Iterable[Advice]) -> tuple[BrokerAdvice, ...]:
    """Return what the advice about all partitions means for each fenced standby broker, by id.

    One partition is enough to promote. A broker is demoted only when no partition needs it any more; while
    one does, its action is none.
    """
    asked: dict[int, dict[AdviceAction, list[Advice]]] = {}
    holding: dict[int, list[Advice]] = {}
    for one in advices:
        if one.actor is not ActorKind.FENCED_STANDBY:
            continue
        if one.observer is not None and one.action in {AdviceAction.PROMOTE, AdviceAction.DEMOTE}:
            asked.setdefault(one.observer, {}).setdefault(one.action, []).append(one)
        if one.action is not AdviceAction.DEMOTE:
            for broker in one.in_isr:
                holding.setdefault(broker, []).append(one)
    return tuple(
        _one(broker, asked[broker], tuple(holding.get(broker, ()))) for broker in sorted(asked)
    )


def _one(
    broker: int, asked: dict[AdviceAction, list[Advice]], holding: tuple[Advice, ...]
) -> BrokerAdvice:
    promote = tuple(asked.get(AdviceAction.PROMOTE, ()))
    if promote:
        why = f"{_places(promote)} {_verb(promote, 'wants', 'want')} broker {broker} in the ISR."
        return BrokerAdvice(broker, AdviceAction.PROMOTE, why, promote, holding)
    demote = tuple(asked[AdviceAction.DEMOTE])
    if holding:
        why = f"{_places(holding)} {_verb(holding, 'needs', 'need')} broker {broker} in the ISR still."
        return BrokerAdvice(broker, AdviceAction.NONE, why, demote, holding)
    why = f"No partition needs broker {broker} in the ISR any more ({_places(demote)})."
    return BrokerAdvice(broker, AdviceAction.DEMOTE, why, demote)


def _places(advices: tuple[Advice, ...]) -> str:
    shown = ", ".join(one.place for one in advices[:_SHOWN])
    more = len(advices) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _verb(advices: tuple[Advice, ...], one: str, many: str) -> str:
    return one if len(advices) == 1 else many
