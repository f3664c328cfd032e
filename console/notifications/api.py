"""Notification channels and routes over REST, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.delivery.api import SaidSerializer
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.notifications import actions, queries
from console.notifications.models import NotificationChannel, NotificationRoute
from console.notifications.serializers import (
    ChangedNotificationChannelSerializer,
    NotificationChannelSerializer,
    NotificationRouteSerializer,
)


class _RowViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """Rows that only administrators see and change."""

    serializer_class: Any
    changed_class: Any
    save_row: Callable[..., Any]
    delete_row: Callable[..., None]
    ordering = "name"
    access: ClassVar = {"read": "administer", "write": "administer"}
    lookup_value_regex = r"\d{1,18}"

    def row(self) -> Any:
        return or_404(self.get_queryset().filter(pk=self.kwargs["pk"]).first())

    def list(self, request: Request) -> Response:
        """List them by name."""
        return super().list(request)

    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one of them."""
        return Response(self.get_serializer(self.row()).data)

    def create(self, request: Request) -> Response:
        """Create one."""
        values = body_of(self.serializer_class, request)
        row = self.save_row(self.get_queryset().model(), values, request.user, timezone.now())
        return Response(self.get_serializer(row).data, status.HTTP_201_CREATED)

    def changed(self, request: Request) -> Response:
        values = body_of(self.changed_class, request, partial=True)
        row = self.save_row(self.row(), values, request.user, timezone.now())
        return Response(self.get_serializer(row).data)

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete one."""
        self.delete_row(self.row())
        return Response(status=status.HTTP_204_NO_CONTENT)


class NotificationChannelViewSet(_RowViewSet):
    """Channels; their secrets are written and never shown."""

    serializer_class = NotificationChannelSerializer
    changed_class = ChangedNotificationChannelSerializer
    save_row = staticmethod(actions.save_channel)
    delete_row = staticmethod(actions.delete_channel)

    def get_queryset(self) -> QuerySet[NotificationChannel]:
        return queries.list_channels()

    @extend_schema(
        request=ChangedNotificationChannelSerializer, responses=NotificationChannelSerializer
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a channel; its kind stays, and so do secrets that are not named."""
        return self.changed(request)

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


class NotificationRouteViewSet(_RowViewSet):
    """Routes: which incidents are sent to which channels."""

    serializer_class = changed_class = NotificationRouteSerializer
    save_row = staticmethod(actions.save_route)
    delete_row = staticmethod(actions.delete_route)

    def get_queryset(self) -> QuerySet[NotificationRoute]:
        return queries.list_routes()

    @extend_schema(request=NotificationRouteSerializer, responses=NotificationRouteSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a route; other fields stay."""
        return self.changed(request)
