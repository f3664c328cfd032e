"""Imported logs over REST: an archive of a node's log folder in, a separate history out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.errors import or_404
from console.frame.pages.uploads import BoundedFile
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.quorum import queries
from console.quorum.log import import_actions
from console.quorum.models import MetadataLog
from console.quorum.serializers import QuorumSerializer


@extend_schema_field(OpenApiTypes.BINARY)
class ArchiveField(serializers.FileField):
    """A file that comes in; the schema would say an address, as for files that go out."""


class ImportSerializer(serializers.Serializer[Any]):
    """An archive, its name and its title."""

    name = serializers.CharField(
        max_length=80,
        help_text="Part of its address: letters, digits, - and _; crosslog puts a _ in front.",
    )
    title = serializers.CharField(
        max_length=200,
        required=False,
        default="",
        allow_blank=True,
        help_text="Shown instead of the name.",
    )
    file = ArchiveField(
        help_text="A tar, tar.gz or zip of a node's log folder; at most METADATA_UPLOAD_MB."
    )

    def validate_file(self, file: Any) -> Any:
        """Refuse what came in another way than through the handler that puts it on disk."""
        if not isinstance(file, TemporaryUploadedFile):
            text = f"The file is missing or too large: at most {settings.METADATA_UPLOAD_MB} MiB."
            raise serializers.ValidationError(text)
        return file


class ImportViewSet(ApiViewSet[MetadataLog]):
    """Logs that were imported from files; they belong to no cluster and need a role everywhere."""

    serializer_class = QuorumSerializer
    parser_classes = (MultiPartParser,)
    ordering = "name"
    lookup_field = "alias"
    lookup_value_regex = r"[A-Za-z0-9_][A-Za-z0-9_-]*"

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Take an upload to disk instead of memory."""
        request.upload_handlers = [BoundedFile(request)]
        return super().initialize_request(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[MetadataLog]:
        return queries.list_logs().filter(cluster=None)

    @extend_schema(responses=QuorumSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List imported logs and the progress of their import."""
        return self.paged(self.get_queryset(), QuorumSerializer)

    @extend_schema(
        request={"multipart/form-data": ImportSerializer}, responses={201: QuorumSerializer}
    )
    def create(self, request: Request) -> Response:
        """Import an archive of a log folder; its history is read within a minute."""
        given = body_of(ImportSerializer, request)
        path = Path(given["file"].temporary_file_path())
        log = import_actions.import_log(
            given["name"],
            given["title"],
            path,
            timezone.now(),
            request.user,
            given["file"].name or path.name,
        )
        answer = queries.get_log(log.name)
        return Response(QuorumSerializer(answer).data, status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=QuorumSerializer)
    @action(detail=True, methods=["post"])
    def read(self, request: Request, alias: str) -> Response:
        """Read an imported log again; `lost` has the progress."""
        log = or_404(queries.get_log(alias))
        import_actions.read_again(log, request.user)
        return Response(QuorumSerializer(queries.get_log(alias)).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, alias: str) -> Response:
        """Remove an imported log, its history and its archive."""
        log = or_404(queries.get_log(alias))
        import_actions.forget_import(log)
        return Response(status=status.HTTP_204_NO_CONTENT)
