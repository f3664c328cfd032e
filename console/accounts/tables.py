"""The tables of accounts."""

from __future__ import annotations

import json

from django.urls import reverse

from console.accounts.models import AuditEntry, Outcome, Role, ServiceToken, User
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table

AGO = "accounts/cells/ago.html"


def grants_of(person: User) -> str:
    """Return the roles on single clusters as text: `east: operator, west: viewer`."""
    return ", ".join(f"{g.cluster.alias}: {g.role}" for g in person.cluster_grants.all())


def clusters_of(token: ServiceToken) -> str:
    """Return which clusters a token is for."""
    if not token.is_scoped:
        return "all of the owner"
    return ", ".join(sorted(c.alias for c in token.clusters.all())) or "none (removed)"


def changes_of(entry: AuditEntry) -> str:
    """Return before and after as one text for the export."""
    sides = {"before": entry.before, "after": entry.after}
    kept = {name: value for name, value in sides.items() if value is not None}
    return json.dumps(kept, sort_keys=True) if kept else ""


def _person_page(person: User) -> str:
    return reverse("accounts:person", args=[person.pk])


PEOPLE = Table(
    (
        Column("username", "User name", "username", link=_person_page),
        Column("role", "Role", "role"),
        Column(
            "on_clusters", "Roles per cluster", csv=grants_of, template="accounts/cells/grants.html"
        ),
        Column("is_active", "State", "is_active", template="accounts/cells/person_state.html"),
        Column("last_login", "Last sign-in", "last_login", template=AGO),
        Column("date_joined", "Created", "date_joined", template=AGO, is_hidden=True),
    ),
    search=("username", "email"),
    filters={"role": Choice("Role", Role.choices, equals("role"))},
    default_sort="username",
)
TOKENS = Table(
    (
        Column("name", "Name", "name"),
        Column("prefix", "Prefix", template="accounts/cells/prefix.html"),
        Column("owner.username", "Owner", "owner__username"),
        Column("role", "Role", "role"),
        Column("for_clusters", "Clusters", csv=clusters_of, template="accounts/cells/scope.html"),
        Column("expires_at", "State", "expires_at", template="accounts/cells/token_state.html"),
        Column(
            "last_used_at",
            "Last used",
            "last_used_at",
            definition="Written at most once a minute.",
            template=AGO,
        ),
        Column("created_at", "Created", "created_at", template=AGO, is_hidden=True),
        Column("pk", "Revoke", csv=lambda _: "", template="accounts/cells/revoke.html"),
    ),
    search=("name", "prefix", "owner__username"),
    default_sort="name",
)
ENTRIES = Table(
    (
        Column("at", "Time", "at", template=AGO),
        Column("actor_name", "User", "actor_name", template="accounts/cells/actor.html"),
        Column("token_name", "Token", "token_name", is_hidden=True),
        Column("action", "Action", "action"),
        Column("subject", "Subject", "subject", template="accounts/cells/subject.html"),
        Column("outcome", "Outcome", "outcome", template="accounts/cells/outcome.html"),
        Column("before", "Change", csv=changes_of, template="accounts/cells/change.html"),
        Column("cluster", "Cluster", "cluster", is_hidden=True),
        Column("address", "Address", "address", is_hidden=True),
        Column("request_id", "Request ID", is_hidden=True),
    ),
    search=("actor_name", "token_name", "action", "subject", "address", "request_id"),
    filters={
        "outcome": Choice("Outcome", Outcome.choices, equals("outcome")),
        "actor": equals("actor_name"),
        "action": equals("action"),
        "subject": equals("subject"),
        "cluster": equals("cluster"),
    },
    default_sort="-at",
)
