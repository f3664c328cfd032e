"""Checks, their settings and maintenance windows over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from console.checks import actions, queries, windows
from console.checks.catalogue import list_checks
from console.checks.serializers import (
    CatalogueCheckSerializer,
    ChangedCheckSettingSerializer,
    CheckFilters,
    CheckSettingFilters,
    CheckSettingSerializer,
    MaintenanceWindowSerializer,
    NewCheckSettingSerializer,
    NewMaintenanceWindowSerializer,
)
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import visible


class CheckViewSet(ApiViewSet[Any]):
    """The catalogue: every check with its rule, thresholds, runbook and open findings."""

    serializer_class = CatalogueCheckSerializer
    pagination_class = None
    parameters: ClassVar = {"list": CheckFilters}
    anywhere_actions: ClassVar = ("list", "retrieve")
    lookup_value_regex = r"[a-z0-9_]{1,60}"
    queryset = CheckSetting.objects.none()

    @extend_schema(responses=CatalogueCheckSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List all checks by area."""
        return Response(self._shown(list_checks(self.asked.get("area", "")), many=True))

    @extend_schema(responses=CatalogueCheckSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one check."""
        found = next((one for one in list_checks() if one.id == pk), None)
        return Response(self._shown(or_404(found), many=False))

    def _shown(self, checks: Any, *, many: bool) -> Any:
        counts = {"counts": queries.count_open(self.request.user)}
        return CatalogueCheckSerializer(checks, many=many, context=counts).data


class CheckSettingViewSet(ApiViewSet[CheckSetting]):
    """Settings of checks: thresholds and exclusions, for everything or narrowed."""

    serializer_class = CheckSettingSerializer
    ordering = ("check_id", "pk")
    lookup_value_regex = r"\d{1,18}"
    parameters: ClassVar = {"list": CheckSettingFilters}
    # The scope of a new one is in its body; what holds everywhere is seen by all.
    anywhere_actions: ClassVar = ("list", "create", "retrieve")
    where = staticmethod(queries.where_setting)

    def get_queryset(self) -> QuerySet[CheckSetting]:
        return visible(self.request.user, queries.list_settings(self.asked.get("check", "")))

    def _row(self) -> CheckSetting:
        return or_404(queries.get_setting(self.request.user, int(self.kwargs["pk"])))

    @extend_schema(responses=CheckSettingSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List settings."""
        return self.paged(self.get_queryset(), CheckSettingSerializer)

    @extend_schema(responses=CheckSettingSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one setting."""
        return Response(CheckSettingSerializer(self._row()).data)

    @extend_schema(request=NewCheckSettingSerializer, responses={201: CheckSettingSerializer})
    def create(self, request: Request) -> Response:
        """Create a setting; one for all clusters or flows needs the role admin everywhere."""
        values, person = body_of(NewCheckSettingSerializer, request), _person(request)
        row = actions.create_setting(values, person, timezone.now())
        return Response(CheckSettingSerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(request=ChangedCheckSettingSerializer, responses=CheckSettingSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a setting; check, cluster and flow stay. `thresholds` replaces all of them."""
        values, person = body_of(ChangedCheckSettingSerializer, request), _person(request)
        row = actions.change_setting(self._row(), values, person, timezone.now())
        return Response(CheckSettingSerializer(row).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a setting."""
        actions.delete_setting(self._row(), _person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MaintenanceWindowViewSet(ApiViewSet[MaintenanceWindow]):
    """Maintenance windows: incidents that open in one are silenced until its end."""

    serializer_class = MaintenanceWindowSerializer
    ordering = ("starts_at", "pk")
    lookup_value_regex = r"\d{1,18}"
    anywhere_actions: ClassVar = ("list", "create", "retrieve")
    where = staticmethod(queries.where_window)

    def get_queryset(self) -> QuerySet[MaintenanceWindow]:
        return visible(self.request.user, queries.list_windows())

    def _row(self) -> MaintenanceWindow:
        return or_404(queries.get_window(self.request.user, int(self.kwargs["pk"])))

    @extend_schema(responses=MaintenanceWindowSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List maintenance windows with their next starts."""
        return self.paged(self.get_queryset(), MaintenanceWindowSerializer)

    @extend_schema(responses=MaintenanceWindowSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one maintenance window with its next starts."""
        return Response(MaintenanceWindowSerializer(self._row()).data)

    @extend_schema(
        request=NewMaintenanceWindowSerializer, responses={201: MaintenanceWindowSerializer}
    )
    def create(self, request: Request) -> Response:
        """Create a maintenance window; one of all clusters needs the role admin everywhere."""
        values, person = body_of(NewMaintenanceWindowSerializer, request), _person(request)
        row = windows.create_window(values, person, timezone.now())
        return Response(MaintenanceWindowSerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a maintenance window; what it silenced opens again."""
        windows.delete_window(self._row(), _person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _person(request: Request) -> Any:
    return request.user
