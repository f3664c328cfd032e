"""The promotions of one cluster in the database: a `PromotionStore`.

Every step is one conditional UPDATE or one transaction, so that two loops never both succeed. An
unavailable or locked database is `StoreAway`: loops then continue from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error, IntegrityError, close_old_connections, transaction
from django.db.models import F, Q, QuerySet

from console.availability.acting.models import (
    HeldPromotion,
    StandbyEvent,
    StandbyLease,
    StandbySign,
)
from console.availability.promotion.models import PromotionStop
from jobs.availability.acting.standby import promotions as words
from jobs.availability.acting.standby.promotions import (
    Lease,
    LoopHeartbeat,
    Phase,
    StoreAway,
    StoreState,
)

_HOUR_MS = 3_600_000


class DatabaseStore:
    """The store of one cluster; one object per thread."""

    def __init__(self, cluster_id: int, renew: Callable[[], None] = close_old_connections) -> None:
        self._cluster_id = cluster_id
        self._renew = renew

    def read(self) -> StoreState:
        """Return what is there now.

        Signs are read after promotions: a sign that is newer than its promotion only says that a loop has
        seen more.
        """
        with self._asking():
            held = self._held().exclude(phase=Phase.ENDED.value).order_by("broker")
            promotions = tuple(_promotion(row) for row in held)
            signs = tuple(_sign(row) for row in self._signs())
            return StoreState(promotions, signs, self._lease(), is_stopped(self._cluster_id))

    def take_lease(self, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
        """Take or renew the lease; None while somebody else has it."""
        until = now_ms + lasts_ms
        with self._asking():
            StandbyLease.objects.get_or_create(cluster_id=self._cluster_id)
            rows = StandbyLease.objects.filter(cluster=self._cluster_id)
            if not rows.filter(holder=holder).update(until_ms=until):
                free = rows.filter(Q(holder="") | Q(until_ms__lte=now_ms))
                if not free.update(holder=holder, token=F("token") + 1, until_ms=until):
                    return None
            lease = self._lease()
            return lease if lease is not None and lease.holder == holder else None

    def release_lease(self, lease: Lease) -> None:
        """Give a lease back; does nothing when somebody else has it by now."""
        with self._asking():
            # Its holder stays, so that the same token is never issued twice.
            self._leased(lease).update(until_ms=0)

    def begin(self, promotion: words.HeldPromotion, lease: Lease | None = None) -> bool:
        """Keep a new promotion; False, and nothing is kept, when it may not begin."""
        with self._asking():
            try:
                with transaction.atomic():
                    if is_stopped(self._cluster_id) or not self._holds(lease):
                        return False
                    HeldPromotion.objects.create(cluster_id=self._cluster_id, **_fields(promotion))
            except IntegrityError:
                return False
        return True

    def move(
        self,
        promotion_id: str,
        generation: int,
        phase: Phase,
        now_ms: int,
        *,
        why: str = "",
        lease: Lease | None = None,
    ) -> bool:
        """Move a promotion on; False, and nothing changes, when it was not there any more."""
        with self._asking(), transaction.atomic():
            live = self._held().exclude(phase=Phase.ENDED.value)
            rows = live.filter(promotion_id=promotion_id, generation=generation)
            row = rows.select_for_update().first()
            if row is None or not self._holds(lease):
                return False
            if not words.may_move(Phase(row.phase), phase):
                raise ValueError(f"A promotion that is {row.phase} does not become {phase.value}.")
            changes = {"phase": phase.value, "generation": generation + 1, "changed_at_ms": now_ms}
            if phase is Phase.ENDED:
                changes["ended_at_ms"] = now_ms
            if why:
                changes["why"] = why
            return bool(rows.filter(phase=row.phase).update(**changes))

    def sign(self, sign: LoopHeartbeat) -> None:
        """Keep the newest sign of a loop; signs older than an hour are forgotten."""
        told = {"at_ms": sign.at_ms, "seen": dict(sign.seen), "problem": sign.problem}
        with self._asking():
            rows = StandbySign.objects.filter(cluster=self._cluster_id)
            if not rows.filter(loop_id=sign.loop_id).update(**told):
                StandbySign.objects.update_or_create(
                    cluster_id=self._cluster_id, loop_id=sign.loop_id, defaults=told
                )
                rows.filter(at_ms__lt=sign.at_ms - _HOUR_MS).delete()

    def record(self, event: words.PromotionEvent) -> None:
        """Keep an event for the audit."""
        with self._asking():
            StandbyEvent.objects.create(
                cluster_id=self._cluster_id,
                at_ms=event.at_ms,
                loop_id=event.loop_id,
                broker=event.broker_id,
                kind=event.kind,
                detail=event.detail,
                promotion_id=event.promotion_id,
            )

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            self._renew()
            yield
        except Error as problem:
            raise StoreAway(f"The database did not answer: {problem}") from problem

    def _held(self) -> QuerySet[HeldPromotion]:
        return HeldPromotion.objects.filter(cluster=self._cluster_id)

    def _signs(self) -> QuerySet[StandbySign]:
        return StandbySign.objects.filter(cluster=self._cluster_id).order_by("loop_id")

    def _lease(self) -> Lease | None:
        row = StandbyLease.objects.filter(cluster=self._cluster_id).exclude(holder="").first()
        return None if row is None else Lease(row.holder, row.token, row.until_ms)

    def _leased(self, lease: Lease) -> QuerySet[StandbyLease]:
        return StandbyLease.objects.filter(
            cluster=self._cluster_id, holder=lease.holder, token=lease.token
        )

    def _holds(self, lease: Lease | None) -> bool:
        """Whether a lease is the one that holds now; locked until the transaction ends."""
        return lease is None or self._leased(lease).select_for_update().first() is not None


def is_stopped(cluster_id: int) -> bool:
    """Say whether the stop switch is on: that of this cluster, or that of all."""
    scopes = [PromotionStop.ALL, str(cluster_id)]
    return PromotionStop.objects.filter(scope__in=scopes, is_on=True).exists()


def _promotion(row: HeldPromotion) -> words.HeldPromotion:
    return words.HeldPromotion(
        row.promotion_id,
        row.broker,
        Phase(row.phase),
        row.generation,
        tuple(row.topics),
        row.asked_by,
        row.why,
        row.begun_at_ms,
        row.changed_at_ms,
        row.ended_at_ms,
    )


def _fields(promotion: words.HeldPromotion) -> dict[str, object]:
    return {
        "promotion_id": promotion.promotion_id,
        "broker": promotion.broker_id,
        "phase": promotion.phase.value,
        "generation": promotion.generation,
        "topics": list(promotion.topics),
        "asked_by": promotion.asked_by,
        "why": promotion.why,
        "begun_at_ms": promotion.begun_at_ms,
        "changed_at_ms": promotion.changed_at_ms,
        "ended_at_ms": promotion.ended_at_ms,
    }


def _sign(row: StandbySign) -> LoopHeartbeat:
    return LoopHeartbeat(row.loop_id, row.at_ms, dict(row.seen), row.problem)
