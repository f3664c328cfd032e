"""The outbox: rows that are written with a report, and sent by the worker that claims them first.

At least once: a worker that dies between the sending and its note sends again, recognisably (Message-ID,
X-Crosslog-Delivery). Being read-only does not hold deliveries up: they change nothing on a cluster or in what
people set up, and what is to be sent was made before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from console.frame.errors import ActionRefused
from console.frame.processes import liveness
from console.reports.delivery import channels
from console.reports.delivery.contents import Contents
from console.reports.delivery.message import message_id_of
from console.reports.delivery.results import Refused, TryAgain
from console.reports.models import Channel, Delivery, DeliveryState, ReportRun, Trigger
from console.reports.queries import why_stopped
from jobs.reports.values import stamp

logger = logging.getLogger(__name__)

# After the first, second, ... attempt; then LATER each time.
BACK_OFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
LATER = timedelta(hours=4)
GIVE_UP_AFTER = timedelta(days=3)
# Longer than any attempt; what a worker that died had claimed is free again after it.
CLAIM = timedelta(minutes=5)
# A round begins no attempt after this: the queue has other work.
ROUND_S = 20.0
MOST_PER_ROUND = 500
KEPT_LOG = 50


def queue(run: ReportRun, now: datetime) -> int:
    """Write a delivery per recipient of a run and return how many; call it with what makes it READY.

    A preview is not delivered. What is there already stays as it is.
    """
    if run.trigger == Trigger.PREVIEW:
        return 0
    rows = [
        Delivery(
            run=run,
            channel=one["channel"],
            address=one["address"],
            created_at=now,
            next_at=now,
        )
        for one in run.recipients
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def deliver_due(now: datetime, clock: Callable[[], float] = time.monotonic) -> int:
    """Send what is due and return how many were delivered; one round at a time, and bounded in time.

    A server that did not answer is not tried again in the same round: what hangs costs one time-out.
    """
    if Delivery.objects.filter(claimed_until__gt=now).exists():
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
    """Take a delivery that is due; None when it is not due (any more), or somebody else has it."""
    until = at + CLAIM
    if not _due(at).filter(pk=delivery_id).update(claimed_until=until, attempts=F("attempts") + 1):
        return None
    delivery = Delivery.objects.select_related("run__person").get(pk=delivery_id)
    if delivery.channel == Channel.EMAIL and not delivery.message_id:
        # Before it is sent: a bounce may be faster than we are.
        delivery.message_id = message_id_of(delivery)
        Delivery.objects.filter(pk=delivery_id).update(message_id=delivery.message_id)
    return delivery


def entry(at: datetime, outcome: str, sentence: str) -> dict[str, Any]:
    """Return a line of the log of a delivery."""
    return {"at": stamp(at), "outcome": outcome, "sentence": sentence}


class _Round:
    """What a round remembers: the report that it reads, and which servers are away."""

    def __init__(self, now: datetime, clock: Callable[[], float]) -> None:
        self._now = now
        self._clock = clock
        self._begun = clock()
        self._away: dict[str, str] = {}
        self._contents: Contents | None = None

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
        state, next_at = DeliveryState.PENDING, None
        try:
            sentence = self._sent(delivery)
            state = DeliveryState.DELIVERED
        except Refused as refused:
            state, sentence = DeliveryState.REFUSED, refused.sentence
        except ActionRefused as gone:
            state, sentence = DeliveryState.GAVE_UP, gone.message
        except TryAgain as failed:
            sentence = failed.sentence
        except Exception:
            # One delivery that breaks must not hold up the others.
            logger.exception("report could not be delivered delivery_id=%s", delivery.pk)
            sentence = "It broke: the log of the worker says why."
        if state == DeliveryState.PENDING:
            next_at = _next_after(delivery, self._at)
            if next_at is None:
                state = DeliveryState.GAVE_UP
                sentence = f"Given up after {GIVE_UP_AFTER.days} days. {sentence}"
        _write(delivery, state, entry(self._at, state, sentence), next_at)
        return state == DeliveryState.DELIVERED

    def _sent(self, delivery: Delivery) -> str:
        why = why_stopped(delivery.run)
        if why:
            raise ActionRefused("rights_ended", f"Not sent: {why}")
        contents = self._contents
        if contents is None or contents.run.pk != delivery.run_id:
            contents = self._contents = _read(delivery.run)
        server = channels.server_of(delivery.channel, delivery.address)
        if server in self._away:
            raise TryAgain(self._away[server])
        try:
            return channels.send(delivery, contents, self._at)
        except TryAgain as failed:
            if failed.is_away:
                self._away[server] = failed.sentence
            raise


def _due(at: datetime) -> QuerySet[Delivery]:
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lte=at)
    return Delivery.objects.filter(free, state=DeliveryState.PENDING, next_at__lte=at)


def _read(run: ReportRun) -> Contents:
    try:
        return Contents(run)
    except OSError as error:
        text = f"The files of the report cannot be read: {error.strerror}."
        raise TryAgain(text) from None


def _next_after(delivery: Delivery, at: datetime) -> datetime | None:
    """Return when a delivery is tried again; None when it was tried for too long."""
    until = (delivery.tried_since or delivery.created_at) + GIVE_UP_AFTER
    if at >= until:
        return None
    number = delivery.attempts - 1
    return min(at + (BACK_OFF[number] if number < len(BACK_OFF) else LATER), until)


def _write(
    delivery: Delivery, state: DeliveryState, line: dict[str, Any], next_at: datetime | None
) -> None:
    """Write how an attempt ended, unless it was decided otherwise meanwhile (a bounce, a later claim)."""
    values: dict[str, Any] = {
        "state": state,
        "next_at": next_at,
        "claimed_until": None,
        "log": [*delivery.log, line][-KEPT_LOG:],
    }
    rows = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.PENDING)
    if state == DeliveryState.DELIVERED:
        # Also when the claim was over: it is not sent once more.
        rows.update(**values, delivered_at=datetime.fromisoformat(line["at"]))
    else:
        rows.filter(claimed_until=delivery.claimed_until).update(**values)
