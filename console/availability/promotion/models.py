"""Observer promotion: policies, the stop switch, actions.

The state of an action changes only by a conditional UPDATE, so whatever runs twice acts once.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from console.availability.placements.models import PatternKind
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster

COOLDOWN_S = 300
HOLD_S = 60


class Trigger(models.TextChoices):
    """When an observer is to be promoted: upstream's words; empty is what the topic's placement says."""

    OF_PLACEMENT = "", "From the topic's placement"
    UNDER_MIN_ISR = "under-min-isr", "The ISR is below min.insync.replicas"
    UNDER_REPLICATED = "under-replicated", "The ISR is below the sync replicas of the placement"
    LEADER_IS_OBSERVER = "leader-is-observer", "An observer leads after an unclean election"


class Mode(models.TextChoices):
    """What follows from a policy that wants a promotion."""

    ADVISE = "advise", "Advise"
    ACT = "act", "Automatic"


class Actor(models.TextChoices):
    """How a promotion is brought about: the words of `jobs.availability.promotion.actors.catalogue`."""

    FENCED_STANDBY = "fenced_standby", "Fenced standby broker"
    HELD_BACK_REPLICA = "held_back_replica", "Held-back replica"
    REASSIGN_TO_SPARE = "reassign_to_spare", "Reassignment to a spare"
    RELAX_MIN_ISR = "relax_min_isr", "min.insync.replicas relaxed"


class ActionState(models.TextChoices):
    """From advice to its end; each arrow is a conditional UPDATE.

    advised -> planned (dry run) -> asked (confirmed) -> acting -> verified -> revert_asked -> reverting ->
    reverted. Advice that is no longer needed lapses; what a guard refuses or what does not work ends there.
    """

    ADVISED = "advised", "Advised"
    PLANNED = "planned", "Planned"
    ASKED = "asked", "Requested"
    ACTING = "acting", "Acting"
    VERIFIED = "verified", "Promoted"
    REVERT_ASKED = "revert_asked", "Revert requested"
    REVERTING = "reverting", "Reverting"
    REVERTED = "reverted", "Reverted"
    LAPSED = "lapsed", "Expired"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


WAITING = (ActionState.ADVISED, ActionState.PLANNED)
# In progress: no other action of the cluster starts.
BUSY = (ActionState.ASKED, ActionState.ACTING, ActionState.REVERT_ASKED, ActionState.REVERTING)
# Changed something on the cluster that is not reverted yet.
STANDING = (
    ActionState.ACTING,
    ActionState.VERIFIED,
    ActionState.REVERT_ASKED,
    ActionState.REVERTING,
)
LIVE = (*WAITING, *BUSY, ActionState.VERIFIED)
_LIVE_WORDS = [state.value for state in LIVE]
_BUSY_WORDS = [state.value for state in BUSY]


def _person() -> Any:
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )


class PromotionPolicy(models.Model):
    """A policy for the topics that a pattern matches; precedence as for placements.

    `policy` is the trigger (empty: that of the topic's placement, under-min-isr without one), `mode` advise
    or automatic. Actions may promote only `allowed_brokers`, manual ones too. After an action none starts
    for `cooldown_s` seconds; a promotion is reverted when all sync replicas were in the ISR for `hold_s`
    seconds. Automatic mode needs `opted_in_by`, the user who enabled it, and their rights at that time
    (`asked_with`) and now.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="promotion_policies"
    )
    kind = models.CharField(max_length=10, choices=PatternKind, default=PatternKind.EXACT)
    pattern = models.CharField(max_length=TOPIC_NAME_LENGTH)
    priority = models.PositiveIntegerField(default=0)
    policy = models.CharField(max_length=20, choices=Trigger, blank=True, default="")
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.ADVISE)
    actor = models.CharField(max_length=20, choices=Actor, default=Actor.FENCED_STANDBY)
    allowed_brokers = models.JSONField(default=list)
    cooldown_s = models.PositiveIntegerField(default=COOLDOWN_S)
    hold_s = models.PositiveIntegerField(default=HOLD_S)
    note = models.CharField(max_length=300, blank=True, default="")
    opted_in_by = _person()
    asked_with = models.JSONField(default=dict, blank=True)
    opted_in_at = models.DateTimeField(null=True, blank=True)
    created_by = _person()
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["cluster", "kind", "-priority", "pattern"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "pattern"], name="one_promotion_policy_per_pattern"
            )
        ]

    def __str__(self) -> str:
        return self.pattern

    @property
    def acts(self) -> bool:
        """Whether actions start without confirmation: a user opted in who still has the rights."""
        return self.mode == Mode.ACT and self.opted_in_at is not None and not self.why_stopped

    @cached_property
    def why_stopped(self) -> str:
        """Why automatic mode ended although a user enabled it; empty while it is active."""
        from console.accounts.asked_rights import why_ended

        if self.mode != Mode.ACT or self.opted_in_at is None:
            return ""
        return why_ended(self.opted_in_by, self.asked_with, "operate", [self.cluster_id])


class PromotionAction(models.Model):
    """An advice, from dry run to revert.

    `subject` is the object that is changed, with at most one live action: `broker 5` for a fenced standby
    broker, which is promoted as a whole, else the partition `orders-3`. `topic` and `partition` are the
    first partition that needs it, `because` all of them (the first hundred of `because_count`). `broker`
    is the observer; null where none is promoted. `code` is an `AdviceCode`. `evidence` is the state of the
    partition at evaluation: leader, ISR, epochs, high watermark; `plan` the dry run, `outcome` the requests
    and measurements (its `undo` is the input of a revert), `refusals` the blocking conditions; all in the
    words of `jobs.availability`. `keys` are the objects of its cooldown. `claimed_until` is the claim of
    the process that works on it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="promotion_actions")
    policy = models.ForeignKey(
        PromotionPolicy, null=True, blank=True, on_delete=models.SET_NULL, related_name="actions"
    )
    subject = models.CharField(max_length=300)
    trigger = models.CharField(max_length=20, choices=Trigger, blank=True, default="")
    actor = models.CharField(max_length=20, choices=Actor)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    partition = models.PositiveIntegerField()
    broker = models.IntegerField(null=True, blank=True)
    because = models.JSONField(default=list)
    because_count = models.PositiveIntegerField(default=1)
    keys = models.JSONField(default=list)
    state = models.CharField(max_length=12, choices=ActionState, default=ActionState.ADVISED)
    is_automatic = models.BooleanField(default=False)
    code = models.CharField(max_length=40, blank=True, default="")
    why = models.TextField(blank=True, default="")
    todo = models.TextField(blank=True, default="")
    data_at_risk = models.TextField(blank=True, default="")
    how_to_demote = models.TextField(blank=True, default="")
    warnings = models.JSONField(default=list)
    candidates = models.JSONField(default=list)
    expected_ms = models.PositiveIntegerField(null=True, blank=True)
    evidence = models.JSONField(default=dict)
    plan = models.JSONField(default=dict)
    outcome = models.JSONField(default=dict)
    refusals = models.JSONField(default=list)
    advised_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    planned_at = models.DateTimeField(null=True, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    asked_by = _person()
    asked_with = models.JSONField(default=dict, blank=True)
    acted_at = models.DateTimeField(null=True, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    reverted_by = _person()
    revert_reason = models.CharField(max_length=300, blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField(max_length=100, blank=True, default="")
    claimed_until = models.DateTimeField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-advised_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "subject"],
                condition=Q(state__in=_LIVE_WORDS),
                name="one_live_promotion_per_subject",
            ),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(state__in=_BUSY_WORDS),
                name="one_busy_promotion_per_cluster",
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "state"], name="promotion_action_state"),
            models.Index(fields=["cluster", "-advised_at"], name="promotion_action_advised"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} of {self.subject} ({self.state})"

    @property
    def place(self) -> str:
        """The first partition that needs it: `orders-3`."""
        return f"{self.topic}-{self.partition}"

    @property
    def is_live(self) -> bool:
        """Whether it can still change its state."""
        return self.state in LIVE

    @property
    def is_waiting(self) -> bool:
        """Whether it is advice without confirmation."""
        return self.state in WAITING

    @property
    def is_in_effect(self) -> bool:
        """Whether it changed something on the cluster that is not reverted yet."""
        return self.state in STANDING

    @property
    def took_ms(self) -> int | None:
        """Time from the first request to the effect; None: no effect was observed."""
        found: int | None = self.outcome.get("took_ms")
        return found


class PromotionStop(models.Model):
    """The stop switch: of one cluster, or of all when `cluster` is null (scope `all`, else the cluster's id).

    No promotion starts while it is on. Promoted brokers stay promoted, because a revert takes replicas out
    of the ISR: they are reverted on request, or automatically when all sync replicas are in the ISR.
    """

    ALL = "all"

    scope = models.CharField(max_length=20, unique=True)
    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="promotion_stop", null=True, blank=True
    )
    is_on = models.BooleanField(default=False)
    why = models.CharField(max_length=300, blank=True, default="")
    by = _person()
    at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    def __str__(self) -> str:
        return "on" if self.is_on else "off"
