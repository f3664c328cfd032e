"""The outbox: rows that are written with what they tell, and sent by the worker that claims them first.

At least once: a worker that dies between the sending and its note sends again, recognisably (Message-ID,
`webhook-id`, keys of PagerDuty and Opsgenie). Being read-only does not hold deliveries up: they change
nothing on a cluster or in what people set up, and what is to be sent was made before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet

from console.delivery.mail import message_id_of
from console.delivery.models import Channel, Delivery, DeliveryState
from console.delivery.results import Refused, TryAgain
from console.frame.claims import ending, is_free, release, take_one
from console.frame.errors import ActionRefused
from console.frame.processes import liveness
from jobs.reports.values import stamp

# After the first, second, ... attempt; then the last one each time.
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240))
GIVE_UP_AFTER = timedelta(days=3)
# Longer than any attempt; what a worker that died had claimed is free again after it.
CLAIM = timedelta(minutes=5)
# A round begins no attempt after this: the queue has other work.
ROUND_S = 20.0
MOST_PER_ROUND = 500
KEPT_LOG = 50
# All other errors: it is tried again.
_ENDS = {Refused: DeliveryState.REFUSED, ActionRefused: DeliveryState.GAVE_UP}


@dataclass(frozen=True, slots=True)
class Source:
    """How a room sends its deliveries.

    `send(delivery, at, memory)` returns a sentence and raises `Refused`, `TryAgain`, `ActionRefused`;
    `memory` is kept for the round. `server` names what a delivery depends on: when it is away, others for
    it wait. `back_off` is the time after each attempt.
    """

    send: Callable[[Delivery, datetime, dict[str, Any]], str]
    server: Callable[[Delivery], str]
    back_off: Sequence[timedelta] = BACK_OFF


# Filled by the `apps` modules of the rooms, by `Delivery.source`.
SOURCES: dict[str, Source] = {}


def queue(rows: Iterable[Delivery]) -> None:
    """Write deliveries; what is there already, by its key, stays as it is."""
    Delivery.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


def deliver_due(now: datetime, clock: Callable[[], float] = time.monotonic) -> int:
    """Send what is due and return how many were delivered; one round at a time, and bounded in time.

    A server that did not answer is not tried again in the same round: what hangs costs one time-out.
    """
    if Delivery.objects.exclude(is_free(now)).exists():
        return 0
    round_ = _Round(now, clock)
    due = _due(now).order_by("next_at", "run_id", "pk").values_list("pk", flat=True)
    delivered = 0
    for pk in list(due[:MOST_PER_ROUND]):
        if round_.is_over:
            break
        delivered += round_.take(pk)
        liveness.sign()
    return delivered


def claim(delivery_id: int, at: datetime) -> Delivery | None:
    """Claim a delivery that is due; None when it is not due (any more), or another worker has it."""
    due = _due(at).filter(pk=delivery_id)
    delivery = take_one(due, at, CLAIM, attempts=F("attempts") + 1)
    if delivery and delivery.channel == Channel.EMAIL and not delivery.message_id:
        # Before it is sent: a bounce may be faster than we are.
        delivery.message_id = message_id_of(delivery)
        Delivery.objects.filter(pk=delivery_id).update(message_id=delivery.message_id)
    return delivery


def log_with(delivery: Delivery, at: datetime, outcome: str, sentence: str) -> list[dict[str, Any]]:
    """Return the log of a delivery with one more line."""
    line = {"at": stamp(at), "outcome": outcome, "sentence": sentence}
    return [*delivery.log, line][-KEPT_LOG:]


def prune(now: datetime) -> int:
    """Remove notifications that ended and are as old as incidents may be; return how many rows.

    Those of a report are removed with their run.
    """
    limit = now - timedelta(days=settings.INCIDENTS_RETENTION_D)
    ended = Delivery.objects.filter(run=None, next_at=None, created_at__lt=limit)
    return ended.delete()[0]


class _Round:
    """What a round remembers: what sources read, and which servers are away."""

    def __init__(self, now: datetime, clock: Callable[[], float]) -> None:
        self._now = now
        self._clock = clock
        self._begun = clock()
        self._away: dict[str, str] = {}
        self._memory: dict[str, dict[str, Any]] = {}

    @property
    def is_over(self) -> bool:
        return self._clock() - self._begun >= ROUND_S

    @property
    def _at(self) -> datetime:
        return self._now + timedelta(seconds=self._clock() - self._begun)

    def take(self, delivery_id: int) -> bool:
        """Claim a delivery and send it; True when it was delivered."""
        delivery = claim(delivery_id, self._at)
        if delivery is None:
            return False
        fail = partial(self._not_sent, delivery)
        with ending(delivery, "sending it", fail, Refused, TryAgain):
            sentence = self._sent(delivery)
            log = log_with(delivery, self._at, DeliveryState.DELIVERED, sentence)
            at = datetime.fromisoformat(log[-1]["at"])
            ended = {"state": DeliveryState.DELIVERED, "next_at": None, "claimed_until": None}
            # Also when the claim was over: it is not sent once more.
            pending = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.PENDING)
            pending.update(**ended, log=log, delivered_at=at)
            return True
        return False

    def _not_sent(self, delivery: Delivery, sentence: str, error: Exception) -> None:
        state, next_at = _ENDS.get(type(error), DeliveryState.PENDING), None
        if state == DeliveryState.PENDING:
            next_at = _next_after(delivery, self._at)
            if next_at is None:
                state = DeliveryState.GAVE_UP
                sentence = f"Given up after {GIVE_UP_AFTER.days} days. {sentence}"
        log = log_with(delivery, self._at, state, sentence)
        # Not when it was decided otherwise meanwhile: a bounce, a later claim.
        release(delivery, state=state, next_at=next_at, log=log)

    def _sent(self, delivery: Delivery) -> str:
        source = SOURCES[delivery.source]
        server = source.server(delivery)
        if server in self._away:
            raise TryAgain(self._away[server])
        try:
            return source.send(delivery, self._at, self._memory.setdefault(delivery.source, {}))
        except TryAgain as failed:
            if failed.is_away:
                self._away[server] = failed.sentence
            raise


def _due(at: datetime) -> QuerySet[Delivery]:
    # No wait is longer: the clock was set back.
    is_due = Q(next_at__lte=at) | Q(next_at__gt=at + BACK_OFF[-1])
    return Delivery.objects.filter(is_free(at), is_due, state=DeliveryState.PENDING)


def _next_after(delivery: Delivery, at: datetime) -> datetime | None:
    """Return when a delivery is tried again; None when it was tried for too long."""
    until = (delivery.tried_since or delivery.created_at) + GIVE_UP_AFTER
    if at >= until:
        return None
    waits = SOURCES[delivery.source].back_off
    return min(at + waits[min(delivery.attempts, len(waits)) - 1], until)
