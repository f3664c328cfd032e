"""Users, tokens and the audit log over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts import actions, queries, tokens
from console.accounts.models import AuditEntry, ServiceToken, User
from console.accounts.serializers import (
    ChangedGrantSerializer,
    ChangedPersonSerializer,
    EntryFilters,
    EntrySerializer,
    MadePersonSerializer,
    MadeTokenSerializer,
    NewPersonSerializer,
    NewTokenSerializer,
    PersonSerializer,
    TokenSerializer,
)
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet


class TokenViewSet(mixins.ListModelMixin, ApiViewSet[ServiceToken]):
    """Service tokens of the user; an administrator's are everybody's.

    Not for tokens: a stolen one must not make others that outlive it.
    """

    serializer_class = TokenSerializer
    ordering = "-created_at"
    access: ClassVar = {"read": "own", "write": "own"}
    people_only = True
    secret_answers: ClassVar = ("create",)
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[ServiceToken]:
        return queries.list_tokens(_person(self.request))

    def list(self, request: Request) -> Response:
        """List tokens, without their secrets."""
        return super().list(request)

    @extend_schema(request=NewTokenSerializer, responses={201: MadeTokenSerializer})
    def create(self, request: Request) -> Response:
        """Create a token; only this response has its secret."""
        values = body_of(NewTokenSerializer, request)
        token, secret = tokens.create_token(values, _person(request))
        made: Any = token
        made.secret = secret
        return Response(MadeTokenSerializer(made).data, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Revoke a token; it stays in the list."""
        token = or_404(queries.get_token(_person(request), int(pk)))
        tokens.revoke_token(token)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PersonViewSet(mixins.ListModelMixin, ApiViewSet[User]):
    """Accounts and their roles, for administrators."""

    serializer_class = PersonSerializer
    ordering = "username"
    access: ClassVar = {"read": "administer", "write": "administer"}
    people_only = True
    secret_answers: ClassVar = ("create", "reset_password")
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[User]:
        return queries.list_people()

    def _get(self) -> User:
        return or_404(queries.get_person(pk=int(self.kwargs["pk"])))

    def _answer(self) -> Response:
        return Response(PersonSerializer(self._get()).data)

    def _made(self, password: str, http_status: int) -> Response:
        made: Any = self._get()
        made.password = password
        return Response(MadePersonSerializer(made).data, http_status)

    def list(self, request: Request) -> Response:
        """List accounts."""
        return super().list(request)

    @extend_schema(responses=PersonSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one account."""
        return self._answer()

    @extend_schema(request=NewPersonSerializer, responses={201: MadePersonSerializer})
    def create(self, request: Request) -> Response:
        """Create a user with a one-time password."""
        values = body_of(NewPersonSerializer, request)
        person, password = actions.create_person(values)
        self.kwargs["pk"] = str(person.pk)
        return self._made(password, status.HTTP_201_CREATED)

    @extend_schema(request=ChangedPersonSerializer, responses=PersonSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the role on all clusters, or deactivate."""
        values = body_of(ChangedPersonSerializer, request, partial=True)
        actions.change_person(self._get(), values)
        return self._answer()

    @extend_schema(request=ChangedGrantSerializer, responses=PersonSerializer)
    @action(detail=True, methods=["post"])
    def grant(self, request: Request, pk: str) -> Response:
        """Grant a role on one cluster, or remove it."""
        values = body_of(ChangedGrantSerializer, request)
        actions.grant(self._get(), values["cluster"], values["role"])
        return self._answer()

    @extend_schema(request=None, responses=MadePersonSerializer)
    @action(detail=True, methods=["post"], url_path="reset-password")
    def reset_password(self, request: Request, pk: str) -> Response:
        """Set a one-time password; ends all sessions and unlocks."""
        return self._made(actions.reset_password(self._get()), status.HTTP_200_OK)

    @extend_schema(request=None, responses=PersonSerializer)
    @action(detail=True, methods=["post"])
    def unlock(self, request: Request, pk: str) -> Response:
        """Unlock an account after too many failed sign-ins."""
        actions.unlock_person(self._get())
        return self._answer()


class AuditViewSet(mixins.ListModelMixin, ApiViewSet[AuditEntry]):
    """The audit log, newest first, for administrators."""

    serializer_class = EntrySerializer
    ordering = "-at"
    access: ClassVar = {"read": "administer", "write": "administer"}
    parameters: ClassVar = {"list": EntryFilters}

    def get_queryset(self) -> QuerySet[AuditEntry]:
        paths = {"actor": "actor_name"}
        names = ("actor", "action", "subject", "cluster", "outcome")
        wanted = {paths.get(name, name): self.asked[name] for name in names if name in self.asked}
        return queries.list_entries().filter(**wanted)

    def list(self, request: Request) -> Response:
        """List the entries."""
        return super().list(request)


def _person(request: Request) -> User:
    person: Any = request.user
    return person  # type: ignore[no-any-return]  # `Allowed` admits only them
