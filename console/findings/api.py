"""All findings over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from rest_framework import mixins

from console.findings import queries
from console.findings.models import Finding
from console.findings.serializers import AllFindingFilters, FindingSerializer, narrowed
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import visible

_NAME_OF_SCOPE = {"cluster": "alias", "flow": "pk", "log": "name", "incident": "pk"}


class FindingViewSet(mixins.ListModelMixin, ApiViewSet[Finding]):
    """Findings about clusters, quorums and flows, worst first, then newest first."""

    serializer_class = FindingSerializer
    ordering = ("-rank", "-opened_at", "pk")
    parameters: ClassVar = {"list": AllFindingFilters}
    anywhere_actions: ClassVar = ("list",)

    def get_queryset(self) -> QuerySet[Finding]:
        for scope, name in _NAME_OF_SCOPE.items():
            if scope in self.asked:
                self._require(scope, {name: self.asked[scope]})
        return narrowed(queries.list_findings(), self.asked)

    def _require(self, scope: str, given: dict[str, Any]) -> None:
        model: Any = Finding._meta.get_field(scope).related_model
        if not visible(self.request.user, model.objects.filter(**given)).exists():
            raise Http404
