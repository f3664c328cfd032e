"""Every address of the console, and what it needs. A route that is not here fails the walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, get_resolver, reverse

# What a method needs: a right, and on what.
# PUBLIC: nobody has to sign in. OWN: anybody who is signed in.
# ANYWHERE: the right on some cluster. HERE: on the clusters that the address is about.
# EVERYWHERE: the right on all clusters. SOURCE: the right on the source of the flow, of which both clusters
# can be seen.
PUBLIC, OWN, ANYWHERE, HERE, EVERYWHERE = "public", "own", "anywhere", "here", "everywhere"
SOURCE = "source"


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
RUN_SOURCE = on(SOURCE, "operate")
RUN_ALL = on(EVERYWHERE, "operate")
SEE_ALL = on(EVERYWHERE)
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
    "api-root": {"GET": MINE},
    "api-docs": {"GET": MINE},
    "api-schema": {"GET": OPEN},
    "help:list": {"GET": MINE},
    "help:chapter": {"GET": MINE},
    "help:file": {"GET": MINE},
    "metrics:scrape": {"GET": SEE_ANY},
    "frame:search": {"GET": SEE_ANY},
    "frame:sidebar": {"GET": MINE},
    "overview:overview": {"GET": SEE_ANY},
    "overview:series": {"GET": SEE_ANY},
    "overview:events": {"GET": SEE_ANY},
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
    # findings of all rooms
    "findings:list": {"GET": SEE_ANY},
    "api-finding-list": {"GET": SEE_ANY},
    "findings:incidents": {"GET": SEE_ANY},
    "findings:incident": {"GET": SEE},
    "findings:acknowledge-incident": {"POST": RUN},
    "findings:silence-incident": {"POST": RUN},
    "findings:unsilence-incident": {"POST": RUN},
    "findings:set-incident-owner": {"POST": RUN},
    "findings:set-incident-note": {"POST": RUN},
    "api-incident-list": {"GET": SEE_ANY},
    "api-incident-detail": {"GET": SEE, "PATCH": RUN},
    "api-incident-acknowledge": {"POST": RUN},
    "api-incident-unacknowledge": {"POST": RUN},
    "api-incident-silence": {"POST": RUN},
    "api-incident-unsilence": {"POST": RUN},
    # checks: a setting or a window of all clusters needs an administrator, which the actions decide
    "checks:list": {"GET": SEE_ANY},
    "checks:settings": {"GET": SEE_ANY},
    "checks:new-setting": {"GET": RUN_ANY, "POST": RUN_ANY},
    "checks:setting": {"GET": SEE, "POST": RUN},
    "checks:remove-setting": {"POST": RUN},
    "checks:maintenance": {"GET": SEE_ANY},
    "checks:new-window": {"GET": RUN_ANY, "POST": RUN_ANY},
    "checks:preview-window": {"POST": RUN_ANY},
    "checks:remove-window": {"POST": RUN},
    "api-check-list": {"GET": SEE_ANY},
    "api-check-detail": {"GET": SEE_ANY},
    "api-setting-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-setting-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-window-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-window-detail": {"GET": SEE, "DELETE": RUN},
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
    "clusters:mirror": {"GET": SEE},
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
    "api-cluster-capabilities": {"GET": SEE},
    "api-cluster-mirror": {"GET": SEE},
    # It asks the cluster itself.
    "api-cluster-mirror-consumer-offsets": {"GET": RUN},
    "api-broker-list": {"GET": SEE_ANY},
    "api-topic-list": {"GET": SEE_ANY},
    "api-partition-list": {"GET": SEE_ANY},
    "api-group-list": {"GET": SEE_ANY},
    "api-group-offset-list": {"GET": SEE_ANY},
    # replication
    "replication:list": {"GET": SEE_ANY},
    "replication:new": {"GET": RUN_ANY, "POST": RUN_ANY},
    "replication:preview": {"POST": RUN_ANY},
    # Nothing is stored, and what is registered is only looked at where the person may see it.
    "replication:mirror-config": {"GET": SEE_ANY, "POST": SEE_ANY},
    "api-mirror-config-list": {"POST": SEE_ANY},
    "api-naming-policy-list": {"GET": SEE_ANY},
    "replication:detail": {"GET": SEE},
    "replication:partitions": {"GET": SEE},
    "replication:findings": {"GET": SEE},
    "replication:checkpoints": {"GET": SEE},
    "replication:checkpoint-group": {"GET": SEE},
    "replication:translate": {"GET": SEE, "POST": SEE},
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
    "api-flow-preview-capabilities": {"POST": RUN_ANY},
    "api-flow-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-flow-accept-topics": {"POST": RUN},
    "api-flow-control": {"GET": SEE, "PATCH": RUN},
    "api-flow-pause": {"POST": RUN},
    "api-flow-resume": {"POST": RUN},
    "api-flow-restart": {"POST": RUN},
    "api-flow-checkpoints": {"GET": SEE},
    "api-flow-checkpoint-series": {"GET": SEE},
    "api-flow-readiness": {"GET": SEE},
    "api-flow-translate": {"GET": SEE, "POST": SEE},
    "api-flow-partitions": {"GET": SEE},
    "api-flow-findings": {"GET": SEE},
    "api-flow-series": {"GET": SEE},
    "api-flow-start": {"POST": RUN},
    "api-flow-stop": {"POST": RUN},
    "api-flow-topics": {"GET": SEE},
    # failover: whoever sees both clusters sees plans; the right to operate counts where groups are set
    "replication:failover": {"GET": SEE},
    "replication:failover-new": {"GET": RUN, "POST": RUN},
    "replication:failback-new": {"GET": RUN_SOURCE, "POST": RUN_SOURCE},
    "replication:failover-plan": {"GET": SEE},
    "replication:failover-group": {"GET": SEE},
    "replication:failover-csv": {"GET": SEE},
    "replication:failover-refresh": {"POST": RUN},
    "replication:failover-rehearse": {"POST": RUN},
    "replication:failover-apply": {"POST": RUN},
    "replication:failover-undo": {"POST": RUN},
    "replication:failover-run": {"GET": SEE},
    "replication:failover-report": {"GET": SEE},
    "api-failover-list": {"GET": SEE, "POST": RUN},
    "api-failover-detail": {"GET": SEE},
    "api-failover-groups": {"GET": SEE},
    "api-failover-runs": {"GET": SEE},
    "api-failover-report": {"GET": SEE},
    "api-failover-commands": {"GET": SEE},
    "api-failover-refresh": {"POST": RUN},
    "api-failover-rehearse": {"POST": RUN},
    "api-failover-apply": {"POST": RUN},
    "api-failover-undo": {"POST": RUN},
    "api-report-list": {"GET": SEE_ANY},
    # quorum
    "quorum:list": {"GET": SEE_ANY},
    "quorum:detail": {"GET": SEE},
    # What is imported belongs to no cluster.
    "quorum:import": {"GET": RUN_ALL, "POST": RUN_ALL},
    "quorum:forget": {"POST": RUN_ALL},
    "quorum:read": {"POST": RUN_ALL},
    "api-quorum-import-list": {"GET": SEE_ALL, "POST": RUN_ALL},
    "api-quorum-import-detail": {"DELETE": RUN_ALL},
    "api-quorum-import-read": {"POST": RUN_ALL},
    "quorum:voters": {"GET": SEE},
    "quorum:partitions": {"GET": SEE},
    "quorum:brokers": {"GET": SEE},
    "quorum:settings": {"GET": SEE},
    "quorum:state": {"GET": SEE},
    "quorum:advisor": {"GET": SEE},
    "quorum:log": {"GET": SEE},
    "quorum:record": {"GET": SEE},
    "api-quorum-list": {"GET": SEE_ANY},
    "api-quorum-detail": {"GET": SEE},
    "api-quorum-findings": {"GET": SEE},
    "api-quorum-state": {"GET": SEE},
    "api-quorum-diff": {"GET": SEE},
    "api-quorum-records": {"GET": SEE},
    "api-quorum-advice": {"GET": SEE},
    "api-voter-set-list": {"GET": SEE_ANY},
    "api-election-list": {"GET": SEE_ANY},
    "api-metadata-change-list": {"GET": SEE_ANY},
    "api-partition-change-list": {"GET": SEE_ANY},
    # placements, observers, what-if, designer
    "availability:observers": {"GET": SEE},
    "availability:placements": {"GET": SEE},
    "availability:new-placement": {"GET": RUN, "POST": RUN},
    "availability:placement": {"GET": RUN, "POST": RUN},
    "availability:remove-placement": {"POST": RUN},
    "availability:what-if": {"GET": SEE},
    "availability:matrix": {"GET": SEE},
    "availability:controller-sites": {"GET": RUN, "POST": RUN},
    "availability:designer": {"GET": SEE},
    # Which cluster it is about stands in the body or the query, and is looked at there.
    "api-placement-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-placement-preview": {"POST": RUN_ANY},
    "api-placement-topics": {"GET": SEE_ANY},
    "api-placement-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-observer-list": {"GET": SEE_ANY},
    # They write nothing.
    "api-what-if-list": {"GET": SEE_ANY, "POST": SEE_ANY},
    "api-what-if-matrix": {"GET": SEE_ANY},
    "api-controller-site-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-placement-design-list": {"POST": SEE_ANY},
    # promotion, drills, runbooks
    "availability:promotion": {"GET": SEE},
    "availability:new-promotion-policy": {"GET": RUN, "POST": RUN},
    "availability:promotion-policy": {"GET": RUN, "POST": RUN},
    "availability:remove-promotion-policy": {"POST": RUN},
    "availability:promotion-action": {"GET": SEE},
    "availability:plan-promotion": {"POST": RUN},
    "availability:apply-promotion": {"POST": RUN},
    "availability:revert-promotion": {"POST": RUN},
    "availability:stop-promotions": {"POST": RUN},
    "availability:allow-promotions": {"POST": RUN},
    "availability:stop-all-promotions": {"POST": RUN_ALL},
    "availability:allow-all-promotions": {"POST": RUN_ALL},
    "availability:drills": {"GET": SEE},
    "availability:start-drill": {"POST": RUN},
    "availability:record-drill": {"GET": RUN, "POST": RUN},
    "availability:drill": {"GET": SEE},
    "availability:runbooks": {"GET": SEE},
    # Which cluster a write is about stands in the body, and is looked at there.
    "api-policy-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-policy-detail": {"GET": SEE, "PATCH": RUN, "DELETE": RUN},
    "api-action-list": {"GET": SEE_ANY},
    "api-action-detail": {"GET": SEE},
    "api-action-plan": {"POST": RUN},
    "api-action-apply": {"POST": RUN},
    "api-action-revert": {"POST": RUN},
    "api-stop-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-actor-list": {"GET": SEE_ANY},
    "api-promotion-finding-list": {"GET": SEE_ANY},
    "api-observer-event-list": {"GET": SEE_ANY},
    "api-drill-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-drill-detail": {"GET": SEE},
    "api-runbook-list": {"GET": SEE_ANY},
    # runs
    # availability
    "availability:list": {"GET": SEE_ANY},
    "availability:detail": {"GET": SEE},
    "availability:partitions": {"GET": SEE},
    "availability:partition": {"GET": SEE},
    "availability:brokers": {"GET": SEE},
    "api-availability-list": {"GET": SEE_ANY},
    "api-availability-detail": {"GET": SEE},
    "api-availability-series": {"GET": SEE},
    "api-availability-partition-list": {"GET": SEE_ANY},
    "api-availability-partition-history": {"GET": SEE},
    "api-availability-broker-list": {"GET": SEE_ANY},
    "api-rollup-list": {"GET": SEE_ANY},
    "api-absence-list": {"GET": SEE_ANY},
    "api-stretch-list": {"GET": SEE_ANY},
    "api-unclean-election-list": {"GET": SEE_ANY},
    # streams
    "streams:list": {"GET": SEE_ANY},
    "streams:detail": {"GET": SEE},
    "streams:description": {"GET": RUN, "POST": RUN},
    # A lookup writes nothing but the trail.
    "streams:key-lookup": {"GET": SEE, "POST": SEE},
    # An id may be of several clusters: the query says which, and that is looked at there.
    "api-streams-list": {"GET": SEE_ANY},
    "api-streams-detail": {"GET": SEE_ANY},
    "api-streams-tasks": {"GET": SEE_ANY},
    "api-streams-description": {"PUT": RUN_ANY},
    "api-streams-key-lookup": {"POST": SEE_ANY},
    "runs:list": {"GET": SEE_ANY},
    "runs:detail": {"GET": SEE},
    "runs:cancel": {"POST": RUN},
    # What a question is about stands in its form or body, and is looked at there.
    "runs:new": {"GET": RUN_ANY},
    "runs:new-analysis": {"GET": RUN_ANY, "POST": RUN_ANY},
    "runs:csv": {"GET": SEE},
    "runs:parquet": {"GET": SEE},
    "api-run-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-run-kinds": {"GET": SEE_ANY},
    # Of no cluster: a list says nothing until it is asked about, and nobody can read it here.
    "api-run-files": {"POST": RUN_ANY},
    "api-run-result": {"GET": SEE},
    "api-run-rows": {"GET": SEE},
    "api-run-csv": {"GET": SEE},
    "api-run-parquet": {"GET": SEE},
    "api-run-detail": {"GET": SEE},
    "api-run-cancel": {"POST": RUN},
    "api-run-log": {"GET": SEE},
    # schedules: of no cluster; the page of the list shows nothing to whoever has no role everywhere
    "schedules:list": {"GET": SEE_ANY},
    "schedules:new": {"GET": RUN_ALL, "POST": RUN_ALL},
    "schedules:preview": {"POST": RUN_ALL},
    "schedules:detail": {"GET": SEE_ALL},
    "schedules:settings": {"GET": RUN_ALL, "POST": RUN_ALL},
    "schedules:run": {"POST": RUN_ALL},
    "schedules:set-enabled": {"POST": RUN_ALL},
    "schedules:delete": {"POST": RUN_ALL},
    "api-schedule-list": {"GET": SEE_ALL, "POST": RUN_ALL},
    "api-schedule-detail": {"GET": SEE_ALL, "PATCH": RUN_ALL, "DELETE": RUN_ALL},
    "api-schedule-run": {"POST": RUN_ALL},
    # reports: owners see and change their own, others need a role everywhere; what was made, by its clusters
    "reports:list": {"GET": SEE_ANY},
    "reports:runs": {"GET": SEE_ANY},
    "reports:run": {"GET": SEE},
    "reports:file": {"GET": SEE},
    "reports:chart": {"GET": SEE},
    "reports:remove": {"POST": RUN},
    "reports:kinds": {"GET": RUN_ANY},
    "reports:new": {"GET": RUN_ANY, "POST": RUN_ANY},
    "reports:detail": {"GET": SEE_ALL},
    "reports:settings": {"GET": RUN_ALL, "POST": RUN_ALL},
    "reports:run-now": {"POST": RUN_ALL},
    "reports:delete": {"POST": RUN_ALL},
    "api-reports-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-reports-detail": {"GET": SEE_ALL, "PATCH": RUN_ALL, "DELETE": RUN_ALL},
    "api-reports-runs": {"GET": SEE_ALL, "POST": RUN_ALL},
    "api-report-run-list": {"GET": SEE_ANY, "POST": RUN_ANY},
    "api-report-run-detail": {"GET": SEE, "DELETE": RUN},
    "api-report-run-file": {"GET": SEE},
    # deliveries of reports: the list shows those of reports that the person sees
    "reports:delivery": {"GET": RULE_ALL},
    "reports:test-delivery": {"POST": RULE_ALL},
    "reports:retry-delivery": {"POST": RULE_ALL},
    "api-delivery-list": {"GET": SEE_ANY},
    "api-delivery-retry": {"POST": RULE_ALL},
    "api-delivery-test": {"POST": RULE_ALL},
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
