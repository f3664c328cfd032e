"""Routes of the API: every room's view sets, and the schema."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from console.accounts.api import AuditViewSet, PersonViewSet, TokenViewSet
from console.clusters.api import (
    BrokerViewSet,
    ClusterViewSet,
    GroupOffsetViewSet,
    GroupViewSet,
    PartitionViewSet,
    TopicViewSet,
)
from console.replication.api import FlowViewSet
from console.runs.api import RunViewSet

router = SimpleRouter()
router.register("clusters", ClusterViewSet, "api-cluster")
router.register("brokers", BrokerViewSet, "api-broker")
router.register("topics", TopicViewSet, "api-topic")
router.register("partitions", PartitionViewSet, "api-partition")
router.register("groups", GroupViewSet, "api-group")
router.register("group-offsets", GroupOffsetViewSet, "api-group-offset")
router.register("flows", FlowViewSet, "api-flow")
router.register("runs", RunViewSet, "api-run")
router.register("tokens", TokenViewSet, "api-token")
router.register("people", PersonViewSet, "api-person")
router.register("audit-trail", AuditViewSet, "api-audit")

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("", include(router.urls)),
]
