"""Checks, their settings and maintenance windows over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from console.checks import actions, queries
from console.checks.catalogue import list_checks
from console.checks.serializers import (
    CatalogueCheckSerializer,
    ChangedCheckSettingSerializer,
    CheckSettingFilters,
    CheckSettingSerializer,
    MaintenanceWindowSerializer,
)
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow
from console.frame.errors import or_404
from console.frame.rest.parameters import Parameters
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet, RowViewSet
from console.frame.security.access import visible


class CheckViewSet(ApiViewSet[Any]):
    """The catalogue: every check with its rule, thresholds, runbook and open findings."""

    serializer_class = CatalogueCheckSerializer
    pagination_class = None
    parameters: ClassVar = {"list": Parameters}
    anywhere_actions: ClassVar = ("list", "retrieve")
    lookup_value_regex = r"[a-z0-9_]{1,60}"
    queryset = CheckSetting.objects.none()

    def get_serializer_context(self) -> dict[str, Any]:
        return {"counts": queries.count_open(self.request.user)}

    @extend_schema(responses=CatalogueCheckSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List all checks by area."""
        return Response(self.get_serializer(list_checks(), many=True).data)

    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one check."""
        found = next((one for one in list_checks() if one.id == pk), None)
        return Response(self.get_serializer(or_404(found)).data)


class ScopedViewSet(RowViewSet):
    """Rows of a cluster, a flow or of all."""

    # The scope of a new one is in its body; what holds everywhere is seen by all.
    anywhere_actions: ClassVar = ("list", "create", "retrieve")

    def create(self, request: Request) -> Response:
        """Create one; for all clusters it needs the role admin everywhere."""
        return super().create(request)

    def delete_row(self, row: Any, person: Any) -> None:
        actions.remove(row, person)


class CheckSettingViewSet(ScopedViewSet):
    """Settings of checks: thresholds and exclusions, for everything or narrowed."""

    serializer_class = CheckSettingSerializer
    ordering = ("check_id", "pk")
    parameters: ClassVar = {"list": CheckSettingFilters}
    where = staticmethod(queries.where_setting)

    def get_queryset(self) -> QuerySet[CheckSetting]:
        wanted = {"check_id": self.asked["check"]} if "check" in self.asked else {}
        return visible(self.request.user, queries.list_settings().filter(**wanted))

    def save_new(self, values: dict[str, Any], person: Any) -> CheckSetting:
        row = CheckSetting(check_id=values.pop("check_id"))
        given = {**values, "flow": values.pop("flow_id")}
        return actions.save_setting(row, given, person, timezone.now())

    @extend_schema(request=ChangedCheckSettingSerializer, responses=CheckSettingSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a setting; check, cluster and flow stay. `thresholds` replaces all of them."""
        values = body_of(ChangedCheckSettingSerializer, request, partial=True)
        person: Any = request.user
        row = actions.save_setting(self.row(), values, person, timezone.now())
        return Response(self.get_serializer(row).data)


class MaintenanceWindowViewSet(ScopedViewSet):
    """Maintenance windows: incidents that open in one are silenced until its end."""

    serializer_class = MaintenanceWindowSerializer
    ordering = ("starts_at", "pk")
    where = staticmethod(queries.where_window)

    def get_queryset(self) -> QuerySet[MaintenanceWindow]:
        return visible(self.request.user, queries.list_windows())

    def save_new(self, values: dict[str, Any], person: Any) -> MaintenanceWindow:
        return actions.create_window(values, person, timezone.now())
