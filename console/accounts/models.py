"""Users, their roles, their tokens, and the audit log."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, NoReturn

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.functional import cached_property


class Role(models.TextChoices):
    """What a person may do, each role more than the one before."""

    NONE = "none", "None: only what is granted"
    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    ADMIN = "admin", "Admin"


# A grant or a token with no right at all would say nothing.
RIGHTS = [(role.value, role.label) for role in Role if role != Role.NONE]


class User(AbstractUser):
    """A person with an account; `role` holds on every cluster, see `console.frame.security.access`.

    `must_change_password` is set with a one-time password. `identity` is issuer and subject of a
    person who signs in elsewhere (OpenID Connect), null for those with a password here.
    """

    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    must_change_password = models.BooleanField(default=False)
    identity = models.CharField(max_length=500, null=True, blank=True, unique=True)

    # The token with which this request came, None for a person.
    acting_token: ServiceToken | None = None
    # Rights at the time of the request, for what acts later: `console.accounts.asked_rights`.
    asked_rights: Any = None

    @cached_property
    def grants(self) -> dict[int, str]:
        """Return the roles on single clusters, by the cluster's primary key; one query."""
        if self.pk is None:
            return {}
        return dict(self.cluster_grants.values_list("cluster_id", "role"))


class ClusterGrant(models.Model):
    """A person's role on one cluster; the higher one of this and the role everywhere counts."""

    user = models.ForeignKey(User, models.CASCADE, related_name="cluster_grants")
    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE, related_name="+")
    role = models.CharField(max_length=10, choices=RIGHTS)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "cluster"], name="one_grant_per_cluster")
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role}"


class ServiceToken(models.Model):
    """A key for a program that acts for its owner, never with more than the owner's rights.

    Only a hash of the secret is kept. `is_scoped` and not the number of clusters says whether the
    token is for some clusters only: one whose last cluster was forgotten must not open all others.
    """

    # A token belongs to its owner, not to a cluster: its room shows people their own.
    clusters_at: ClassVar[tuple[str, ...]] = ()

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64, unique=True)
    owner = models.ForeignKey(User, models.PROTECT, related_name="tokens")
    role = models.CharField(max_length=10, choices=RIGHTS)
    is_scoped = models.BooleanField(default=False)
    clusters: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        "clusters.Cluster", blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        """Whether it opens anything now."""
        return self.revoked_at is None and self.expires_at > timezone.now()

    @cached_property
    def scope(self) -> Collection[int] | None:
        """Return the clusters that it is for; None when for all of its owner's. One query at most."""
        if not self.is_scoped:
            return None
        return frozenset(self.clusters.values_list("pk", flat=True))


class Outcome(models.TextChoices):
    """How an attempt ended."""

    DONE = "done", "Done"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


class AuditEntry(models.Model):
    """An action or an attempt; written once, never changed (see `accounts.audit`).

    `subject` is `kind:name`, for example `cluster:east`. `actor` is null for a failed sign-in and for
    crosslog itself. Names are stored in full because what they name may be removed.
    """

    at = models.DateTimeField(db_index=True)
    actor = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True)
    token_name = models.CharField(max_length=120, blank=True)
    action = models.CharField(max_length=60, db_index=True)
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.DONE)
    subject = models.CharField(max_length=300, db_index=True)
    cluster = models.CharField(max_length=200, blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    address = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new entry; an old one stays as it is."""
        if not self._state.adding:
            self._refuse()
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: what was done stays written."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError("The audit log is append-only.")


class SignInFailures(models.Model):
    """Failed sign-ins of one name or from one address; `kind` is "user" or "address".

    They count from `since`; after a while without a new one they are forgotten. With the kind "refused" `key`
    is a person or an address, whose other attempts in vain are counted (`accounts.audit`).
    """

    kind = models.CharField(max_length=10)
    key = models.CharField(max_length=150)
    count = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()
    locked_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "key"], name="failures_once_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.count}"
