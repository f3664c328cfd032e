"""Every address of the console, and what it needs. A route that is not here fails the walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, get_resolver, reverse

# What a method needs: a right, and on what.
# PUBLIC: nobody has to sign in. OWN: anybody who is signed in.
# ANYWHERE: the right on some cluster. HERE: on the clusters that the address is about.
# EVERYWHERE: the right on all clusters.
PUBLIC, OWN, ANYWHERE, HERE, EVERYWHERE = "public", "own", "anywhere", "here", "everywhere"


@dataclass(frozen=True)
class Need:
    """A right and where it is needed; `people_only`: not for tokens."""

    where: str
    right: str = "view"
    people_only: bool = False


def on(where: str, right: str = "view", **more: bool) -> Need:
    return Need(where, right, **more)


SEE_ANY, SEE = on(ANYWHERE), on(HERE)
RUN_ANY, RUN = on(ANYWHERE, "operate"), on(HERE, "operate")
RULE, RULE_ALL = on(HERE, "administer"), on(EVERYWHERE, "administer")
MINE, MINE_ALONE = on(OWN), on(OWN, people_only=True)
RULE_ALONE = on(EVERYWHERE, "administer", people_only=True)
OPEN = on(PUBLIC)

EXPECTED: dict[str, dict[str, Need]] = {
    "healthz": {"GET": OPEN},
    "readyz": {"GET": OPEN},
    "login": {"GET": OPEN, "POST": OPEN},
    "logout": {"POST": OPEN},
    "accounts:oidc": {"GET": OPEN},
    "accounts:oidc-back": {"GET": OPEN},
    "api-schema": {"GET": OPEN},
    "metrics:scrape": {"GET": SEE_ANY},
    "frame:jumps": {"GET": SEE_ANY},
    "frame:rail": {"GET": MINE},
    "overview:overview": {"GET": SEE_ANY},
    # accounts
    "accounts:password": {"GET": MINE, "POST": MINE},
    "accounts:tokens": {"GET": MINE, "POST": MINE},
    "accounts:revoke-token": {"POST": MINE},
    "accounts:people": {"GET": RULE_ALL},
    "accounts:new-person": {"GET": RULE_ALL, "POST": RULE_ALL},
    "accounts:person": {"GET": RULE_ALL, "POST": RULE_ALL},
    "accounts:grant": {"POST": RULE_ALL},
    "accounts:set-active": {"POST": RULE_ALL},
    "accounts:reset-password": {"POST": RULE_ALL},
    "accounts:unlock": {"POST": RULE_ALL},
    "accounts:audit": {"GET": RULE_ALL},
    "api-token-list": {"GET": MINE_ALONE, "POST": MINE_ALONE},
    "api-token-detail": {"DELETE": MINE_ALONE},
    "api-person-list": {"GET": RULE_ALONE, "POST": RULE_ALONE},
    "api-person-detail": {"GET": RULE_ALONE, "PATCH": RULE_ALONE},
    "api-person-grant": {"POST": RULE_ALONE},
    "api-person-reset-password": {"POST": RULE_ALONE},
    "api-person-unlock": {"POST": RULE_ALONE},
    "api-audit-list": {"GET": RULE_ALL},
    # clusters
    "clusters:list": {"GET": SEE_ANY},
    "clusters:new": {"GET": RULE_ALL, "POST": RULE_ALL},
    "clusters:detail": {"GET": SEE},
    "clusters:brokers": {"GET": SEE},
    "clusters:topics": {"GET": SEE},
    "clusters:topic": {"GET": SEE},
    "clusters:partitions": {"GET": SEE},
    "clusters:groups": {"GET": SEE},
    "clusters:group": {"GET": SEE},
    # Its fields may refer to the secret of any cluster.
    "clusters:settings": {"GET": RULE_ALL, "POST": RULE_ALL},
    "clusters:check": {"POST": RUN},
    "clusters:confirm": {"POST": RULE},
    "clusters:delete": {"POST": RULE},
    "api-cluster-list": {"GET": SEE_ANY, "POST": RULE_ALL},
    "api-cluster-check-settings": {"POST": RULE_ALL},
    "api-cluster-detail": {"GET": SEE, "PATCH": RULE_ALL, "DELETE": RULE},
    "api-cluster-check": {"POST": RUN},
    "api-cluster-confirm-cluster-id": {"POST": RULE},
    "api-cluster-freshness": {"GET": SEE},
    "api-broker-list": {"GET": SEE_ANY},
    "api-topic-list": {"GET": SEE_ANY},
    "api-partition-list": {"GET": SEE_ANY},
    "api-group-list": {"GET": SEE_ANY},
    "api-group-offset-list": {"GET": SEE_ANY},
    # replication
    "replication:list": {"GET": SEE_ANY},
    "replication:new": {"GET": RUN_ANY, "POST": RUN_ANY},
    "replication:preview": {"POST": RUN_ANY},
    "replication:detail": {"GET": SEE},
    "replication:partitions": {"GET": SEE},
    "replication:runs": {"GET": SEE},
    "replication:settings": {"GET": RUN, "POST": RUN},
    "replication:start": {"POST": RUN},
    "replication:stop": {"POST": RUN},
    "replication:delete": {"POST": RUN},
    "replication:accept-topics": {"POST": RUN},
    "replication:control": {"GET": RUN, "POST": RUN},
    "replication:pause": {"POST": RUN},
    "replication:resume": {"POST": RUN},
    "replication:restart": {"POST": RUN},
    "api-flow-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-flow-preview": {"POST": RUN_ANY},
    "api-flow-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-flow-accept-topics": {"POST": RUN},
    "api-flow-control": {"GET": SEE, "PATCH": RUN},
    "api-flow-pause": {"POST": RUN},
    "api-flow-resume": {"POST": RUN},
    "api-flow-restart": {"POST": RUN},
    "api-flow-partitions": {"GET": SEE},
    "api-flow-series": {"GET": SEE},
    "api-flow-start": {"POST": RUN},
    "api-flow-stop": {"POST": RUN},
    "api-flow-topics": {"GET": SEE},
    # runs
    "runs:list": {"GET": SEE_ANY},
    "runs:detail": {"GET": SEE},
    "runs:cancel": {"POST": RUN},
    "api-run-list": {"GET": SEE_ANY},
    "api-run-detail": {"GET": SEE},
    "api-run-cancel": {"POST": RUN},
    "api-run-log": {"GET": SEE},
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Route:
    """An address of the URL configuration: its name and the parameters that it takes."""

    name: str
    parameters: tuple[str, ...]

    def path(self, values: dict[str, Any]) -> str:
        """Return the address of real objects; `values["of"]` is for one room or noun only."""
        room = self.name.split(":")[0] if ":" in self.name else "-".join(self.name.split("-")[:2])
        given = values | values["of"].get(room, {})
        return reverse(self.name, kwargs={name: given[name] for name in self.parameters})


def all_routes() -> list[Route]:
    """Return what the URL configuration has, read from it."""
    return sorted(set(_walk(get_resolver().url_patterns, "", ())), key=lambda route: route.name)


def _walk(patterns: list[Any], space: str, outer: tuple[str, ...]) -> Iterator[Route]:
    for entry in patterns:
        names = tuple(entry.pattern.regex.groupindex) or tuple(entry.pattern.converters)
        if isinstance(entry, URLPattern):
            yield Route(f"{space}{entry.name}", outer + names)
        else:
            inner = f"{entry.namespace}:" if entry.namespace else ""
            yield from _walk(entry.url_patterns, space + inner, outer + names)
