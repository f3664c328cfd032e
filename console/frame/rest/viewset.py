"""What every view set of the API inherits: declared parameters, ETags, keys against doing things twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from console.frame.errors import or_404
from console.frame.rest import idempotency
from console.frame.rest.etag import add_etag, check_if_match
from console.frame.rest.parameters import PageParameters, Parameters, read_parameters
from console.frame.rest.parsing import body_of

# A UUID as the key in an address.
UUID_PATTERN = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_M_co = TypeVar("_M_co", bound=Model, covariant=True)


class ApiViewSet(viewsets.GenericViewSet[_M_co]):
    """A view set of the API.

    `parameters` names the parameters of each action; an action that is not named has none, a `list`
    those of a page. `asked` holds the validated ones. `secret_answers` names actions whose answer
    is never kept for an idempotency key.
    """

    parameters: ClassVar[Mapping[str, type[Parameters]]] = {}
    secret_answers: ClassVar[Collection[str]] = ()

    asked: dict[str, Any]
    # A name or several; see `Pagination`.
    ordering: Any
    # Set by DRF on each instance, for the actions that its route has.
    post: Callable[..., Response]

    @classmethod
    def parameters_of(cls, action: str | None) -> type[Parameters]:
        """Return the parameters of an action."""
        default = PageParameters if action == "list" else Parameters
        return cls.parameters.get(action or "", default)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Read the query as UTF-8, whatever charset the client says its body has."""
        request.encoding = "utf-8"
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check parameters after person, right and limit, then If-Match; a POST with a key is done once."""
        super().initial(request, *args, **kwargs)
        self.asked = read_parameters(request, self.parameters_of(self.action))
        check_if_match(request)
        perform = getattr(self, "post", None)
        if request.method == "POST" and perform and idempotency.HEADER in request.headers:
            self.post = self._once(perform)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Give reads their ETag."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        add_etag(request, answer)
        return answer

    def paged(
        self, rows: QuerySet[Any], shape: type[Serializer[Any]], ordering: str = ""
    ) -> Response:
        """Return the page that the query asks for, in the order of the view unless another is named."""
        if ordering:
            self.ordering = ordering
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(shape(page, many=True).data)

    def _once(self, perform: Callable[..., Response]) -> Callable[..., Response]:
        holds_secret = self.action in self.secret_answers

        def performed(request: Request, *args: Any, **kwargs: Any) -> Response:
            return idempotency.do_once(
                request, lambda: perform(request, *args, **kwargs), holds_secret=holds_secret
            )

        return performed


class RowViewSet(ApiViewSet[Any]):
    """Rows that are listed, shown, created and deleted by their number."""

    serializer_class: Any
    lookup_value_regex = r"\d{1,18}"

    def row(self) -> Any:
        return or_404(self.get_queryset().filter(pk=self.kwargs["pk"]).first())

    def list(self, request: Request) -> Response:
        """List those that you may see."""
        return self.paged(self.get_queryset(), self.serializer_class)

    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one of them."""
        return Response(self.get_serializer(self.row()).data)

    def create(self, request: Request) -> Response:
        """Create one."""
        row = self.save_new(body_of(self.serializer_class, request), request.user)
        return Response(self.get_serializer(row).data, status.HTTP_201_CREATED)

    def save_new(self, values: dict[str, Any], person: Any) -> Any:
        raise NotImplementedError

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete one."""
        self.delete_row(self.row(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def delete_row(self, row: Any, person: Any) -> None:
        raise NotImplementedError
