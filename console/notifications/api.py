"""Notification channels and routes over REST, for administrators."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.delivery.api import SaidSerializer
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import RowViewSet
from console.notifications import actions, queries
from console.notifications.models import NotificationChannel, NotificationRoute
from console.notifications.serializers import (
    ChangedNotificationChannelSerializer,
    NotificationChannelSerializer,
    NotificationRouteSerializer,
)


class _SavedViewSet(RowViewSet):
    """Rows that only administrators see and change."""

    ordering = "name"
    access: ClassVar = {"read": "administer", "write": "administer"}

    def save_new(self, values: dict[str, Any], person: Any) -> Any:
        return actions.save(self.get_queryset().model(), values, person, timezone.now())

    def changed(self, request: Request, shape: Any) -> Response:
        person: Any = request.user
        values = body_of(shape, request, partial=True)
        row = actions.save(self.row(), values, person, timezone.now())
        return Response(self.get_serializer(row).data)

    def delete_row(self, row: Any, person: Any) -> None:
        actions.delete(row)


class NotificationChannelViewSet(_SavedViewSet):
    """Channels; their secrets are written and never shown."""

    serializer_class = NotificationChannelSerializer

    def get_queryset(self) -> QuerySet[NotificationChannel]:
        return queries.list_channels()

    @extend_schema(
        request=ChangedNotificationChannelSerializer, responses=NotificationChannelSerializer
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a channel; its kind stays, and so do secrets that are not named."""
        return self.changed(request, ChangedNotificationChannelSerializer)

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a channel; 409 `in_use` while a route sends to it."""
        return super().destroy(request, pk)

    @extend_schema(request=None, responses=SaidSerializer)
    @action(detail=True, methods=["post"], url_path="test", url_name="test")
    def send_test(self, request: Request, pk: str) -> Response:
        """Send a test message at once; 409 with what was answered when it was not delivered."""
        person: Any = request.user
        said = actions.send_test(self.row(), person, timezone.now())
        return Response(SaidSerializer({"sentence": said}).data)


class NotificationRouteViewSet(_SavedViewSet):
    """Routes: which incidents are sent to which channels."""

    serializer_class = NotificationRouteSerializer

    def get_queryset(self) -> QuerySet[NotificationRoute]:
        return queries.list_routes()

    @extend_schema(request=NotificationRouteSerializer, responses=NotificationRouteSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a route; other fields stay."""
        return self.changed(request, NotificationRouteSerializer)
