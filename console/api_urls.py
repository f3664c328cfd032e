"""Routes of the API: every room's view sets, and the schema."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from console.accounts.api import AuditViewSet, PersonViewSet, TokenViewSet
from console.availability.controller_sites.api import ControllerSiteViewSet
from console.availability.designer.api import PlacementDesignViewSet
from console.availability.drills.api import DrillViewSet, RunbookViewSet
from console.availability.placements.api import ObserverViewSet, PlacementViewSet
from console.availability.promotion.api import (
    ActionViewSet,
    ActorViewSet,
    EventViewSet,
    PolicyViewSet,
    PromotionFindingViewSet,
    StopViewSet,
)
from console.availability.status.api import (
    AbsenceViewSet,
    AvailabilityViewSet,
    BrokerStatusViewSet,
    PartitionStatusViewSet,
    RollupViewSet,
    StretchViewSet,
    UncleanElectionViewSet,
)
from console.availability.what_if.api import WhatIfViewSet
from console.checks.api import CheckSettingViewSet, CheckViewSet, MaintenanceWindowViewSet
from console.checks.objectives.api import ObjectiveViewSet
from console.clusters.api import (
    BrokerViewSet,
    ClusterViewSet,
    GroupOffsetViewSet,
    GroupViewSet,
    PartitionViewSet,
    TopicViewSet,
)
from console.delivery.api import DeliveryViewSet
from console.findings.api import FindingViewSet
from console.findings.incidents.api import IncidentViewSet
from console.frame.rest.api_docs import ResourcesView, api_docs
from console.frame.rest.schema_view import SchemaView
from console.notifications.api import NotificationChannelViewSet, NotificationRouteViewSet
from console.quorum.api import (
    ElectionViewSet,
    MetadataChangeViewSet,
    PartitionChangeViewSet,
    QuorumViewSet,
    VoterSetViewSet,
)
from console.quorum.log.import_api import ImportViewSet
from console.replication.failover.api import FailoverPlanViewSet, ReportKeyViewSet
from console.replication.flows.api import FlowViewSet
from console.replication.mirror_config.api import MirrorConfigViewSet, NamingViewSet
from console.reports.api import ReportRunViewSet, ReportViewSet
from console.runs.api import RunViewSet
from console.runs.engines.api import EngineViewSet
from console.schedules.api import ScheduleViewSet
from console.streams.api import StreamsViewSet
from console.tracing.extractors.api import ExtractorViewSet
from console.tracing.replays.api import RedriveViewSet

router = SimpleRouter()
router.register("clusters", ClusterViewSet, "api-cluster")
router.register("findings", FindingViewSet, "api-finding")
router.register("incidents", IncidentViewSet, "api-incident")
router.register("checks", CheckViewSet, "api-check")
router.register("check-settings", CheckSettingViewSet, "api-setting")
router.register("objectives", ObjectiveViewSet, "api-objective")
router.register("maintenance-windows", MaintenanceWindowViewSet, "api-window")
router.register("brokers", BrokerViewSet, "api-broker")
router.register("topics", TopicViewSet, "api-topic")
router.register("partitions", PartitionViewSet, "api-partition")
router.register("groups", GroupViewSet, "api-group")
router.register("group-offsets", GroupOffsetViewSet, "api-group-offset")
router.register("flows", FlowViewSet, "api-flow")
router.register(r"flows/(?P<flow_id>\d{1,18})/failover-plans", FailoverPlanViewSet, "api-failover")
router.register("report-key", ReportKeyViewSet, "api-report")
router.register("mirror-config", MirrorConfigViewSet, "api-mirror-config")
router.register("naming-policies", NamingViewSet, "api-naming-policy")
# Before the quorums: no cluster of these names could be asked for otherwise.
router.register("quorum/voter-sets", VoterSetViewSet, "api-voter-set")
router.register("quorum/elections", ElectionViewSet, "api-election")
router.register("quorum/imports", ImportViewSet, "api-quorum-import")
router.register("quorum", QuorumViewSet, "api-quorum")
router.register("metadata-changes", MetadataChangeViewSet, "api-metadata-change")
router.register("partition-changes", PartitionChangeViewSet, "api-partition-change")
router.register("placements", PlacementViewSet, "api-placement")
router.register("placement-designs", PlacementDesignViewSet, "api-placement-design")
router.register("what-if", WhatIfViewSet, "api-what-if")
router.register("controller-sites", ControllerSiteViewSet, "api-controller-site")
router.register("observers", ObserverViewSet, "api-observer")
# Before the clusters, as above.
router.register("availability/partitions", PartitionStatusViewSet, "api-availability-partition")
router.register("availability/brokers", BrokerStatusViewSet, "api-availability-broker")
router.register("availability/rollups", RollupViewSet, "api-rollup")
router.register("availability/out-of-sync", AbsenceViewSet, "api-absence")
router.register("availability/stretches", StretchViewSet, "api-stretch")
router.register("availability/unclean-elections", UncleanElectionViewSet, "api-unclean-election")
router.register("availability", AvailabilityViewSet, "api-availability")
router.register("promotion-policies", PolicyViewSet, "api-policy")
router.register("promotion-actions", ActionViewSet, "api-action")
router.register("promotion-stop", StopViewSet, "api-stop")
router.register("promotion-actors", ActorViewSet, "api-actor")
router.register("promotion-findings", PromotionFindingViewSet, "api-promotion-finding")
router.register("observer-events", EventViewSet, "api-observer-event")
router.register("drills", DrillViewSet, "api-drill")
router.register("runbooks", RunbookViewSet, "api-runbook")
router.register("streams", StreamsViewSet, "api-streams")
router.register("extractors", ExtractorViewSet, "api-extractor")
router.register("redrives", RedriveViewSet, "api-redrive")
router.register("runs", RunViewSet, "api-run")
router.register("engines", EngineViewSet, "api-engine")
router.register("reports", ReportViewSet, "api-reports")
router.register("report-runs", ReportRunViewSet, "api-report-run")
router.register("schedules", ScheduleViewSet, "api-schedule")
router.register("deliveries", DeliveryViewSet, "api-delivery")
router.register("notification-channels", NotificationChannelViewSet, "api-notification-channel")
router.register("notification-routes", NotificationRouteViewSet, "api-notification-route")
router.register("tokens", TokenViewSet, "api-token")
router.register("people", PersonViewSet, "api-person")
router.register("audit-trail", AuditViewSet, "api-audit")

resources = {prefix: f"{name}-list" for prefix, _, name in router.registry}

urlpatterns = [
    path("", ResourcesView.as_view(resources=resources), name="api-root"),
    path("docs/", api_docs, name="api-docs"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("", include(router.urls)),
]
