"""A small world for tests of safety: clusters, a flow and a run that some people see and others do not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from console.accounts.models import ClusterGrant, Role, ServiceToken, User
from console.accounts.tokens import new_secret
from console.availability.drills.models import Drill
from console.availability.placements.models import TopicPlacement
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from console.clusters.models import Cluster
from console.delivery.models import Delivery
from console.replication.failover.models import FailoverPlan
from console.replication.flows.models import FlowTopic, GroupReadiness, ReplicationFlow
from console.reports.models import Report, ReportRun
from console.runs.models import Run
from console.schedules.models import Schedule
from tests.console.availability.making import make_available
from tests.console.availability.placed_world import make_rule
from tests.console.availability.promotion_world import fill_promotion
from tests.console.checks.making import make_objective, make_setting, make_window
from tests.console.clusters.making import make_seen
from tests.console.delivery.making import make_delivery, make_report_run
from tests.console.making import NOW, make_cluster, make_flow, make_partition, make_run
from tests.console.notifications.making import make_channel, make_route
from tests.console.quorum.making import make_quorum
from tests.console.replication.failover_world import make_rehearsed
from tests.console.runs.engine_rows import make_engine
from tests.console.schedules.making import make_schedule
from tests.console.streams.making import make_streams
from tests.console.tracing.making import make_extractor

# A reference to a secret that does not exist: checks end before anything is called.
AWAY = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "crosslog"}
AWAY |= {"sasl_password": "env:CROSSLOG_SECRET_THAT_IS_NOT_SET"}
GRANTED, DARK = ("east", "west"), "dark"


@dataclass(frozen=True)
class World:
    """East and west are granted to some, dark to nobody; the flows lead to west and to dark."""

    east: Cluster
    west: Cluster
    dark: Cluster
    flow: ReplicationFlow
    dark_flow: ReplicationFlow
    run: Run
    dark_run: Run
    plan: FailoverPlan
    dark_plan: FailoverPlan
    placement: TopicPlacement
    dark_placement: TopicPlacement
    schedule: Schedule
    report: Report
    report_run: ReportRun
    dark_report_run: ReportRun


def make_world() -> World:
    east, west = (make_cluster(alias, **AWAY) for alias in GRANTED)
    dark = make_cluster(DARK, **AWAY)
    for cluster in (east, west, dark):
        make_seen(cluster)
    flow = make_flow("to west", source="east", target="west")
    dark_flow = make_flow("to dark", source="east", target=DARK)
    for cluster in (east, dark):
        make_quorum(cluster)
        make_available(cluster)
        make_streams(cluster)
    for row in (flow, dark_flow):
        make_partition(row)
        FlowTopic.objects.create(flow=row, topic="orders", updated_at=NOW, accepts_new=True)
        GroupReadiness.objects.create(flow=row, group="group-00000", since=NOW, updated_at=NOW)
    run = make_run(flow, title="Replicate to west")
    dark_run = make_run(dark_flow, title="Replicate to dark")
    plan, dark_plan = (
        make_rehearsed(flow, "plan to west"),
        make_rehearsed(dark_flow, "plan to dark"),
    )
    for cluster in (east, dark):
        fill_promotion(cluster)
    placement, dark_placement = make_rule(east, "orders"), make_rule(dark, "orders")
    placements = (placement, dark_placement)
    runs_and_plans = (run, dark_run, plan, dark_plan)
    schedule = make_schedule(None)
    # One key for both of their routes of the API.
    channel = make_channel(pk=7)
    make_route(channel, pk=channel.pk)
    reports = make_reports(flow, dark_flow)
    make_engine()
    for cluster in (east, dark):
        make_setting(cluster=cluster)
        make_window(cluster=cluster)
        make_objective(cluster)
        make_extractor(cluster, f"slips of {cluster.alias}")
    return World(
        east, west, dark, flow, dark_flow, *runs_and_plans, *placements, schedule, *reports
    )


def make_reports(flow: ReplicationFlow, dark_flow: ReplicationFlow) -> tuple[Any, ...]:
    """Return a report, and what was made of each flow."""
    report = Report.objects.create(
        name="Weekly", kind="replication", period="last-week", formats=["pdf"], created_at=NOW
    )
    runs = []
    for one in (flow, dark_flow):
        run = make_report_run(name=f"Report {one.name}", clusters=[one.source, one.target])
        delivery = make_delivery()
        Delivery.objects.filter(pk=delivery.pk).update(run=run)
        runs.append(run)
    return report, *runs


def promotion_of(cluster: Cluster) -> tuple[PromotionPolicy, PromotionAction, Drill]:
    """Return a policy, an action and a drill of a cluster."""
    return (
        cluster.promotion_policies.get(),
        cluster.promotion_actions.first(),
        cluster.drills.get(),
    )


def make_person(name: str, role: str = Role.NONE, **granted: str) -> User:
    person = User.objects.create_user(name, password=f"a password of {name}", role=role)
    for alias, right in granted.items():
        cluster = Cluster.objects.get(alias=alias)
        ClusterGrant.objects.create(user=person, cluster=cluster, role=right)
    return person


def make_token(owner: User, role: str = Role.ADMIN, **fields: Any) -> tuple[ServiceToken, str]:
    """Make a token and return it with its secret."""
    secret, clusters = new_secret(), fields.pop("clusters", None)
    values = {
        "name": "report",
        "role": role,
        "owner": owner,
        "is_scoped": clusters is not None,
        "created_at": timezone.now(),
        "expires_at": timezone.now() + timedelta(days=1),
    } | fields
    token = ServiceToken.objects.create(prefix=secret.prefix, digest=secret.digest, **values)
    token.clusters.set(clusters or ())
    return token, secret.text


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
