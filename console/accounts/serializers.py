"""Users, tokens and the audit log in the API."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.accounts.models import RIGHTS, AuditEntry, Outcome, Role, ServiceToken, User
from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer


class TokenSerializer(serializers.ModelSerializer[ServiceToken]):
    """A token without its secret; `clusters` is null when it is for all that its owner sees."""

    owner = serializers.CharField(source="owner.username")
    clusters = serializers.SerializerMethodField()
    is_live = serializers.BooleanField(help_text="Neither expired nor revoked.")

    class Meta:
        model = ServiceToken
        fields = (
            "id",
            "name",
            "prefix",
            "owner",
            "role",
            "clusters",
            "is_live",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.CharField(), allow_null=True))
    def get_clusters(self, token: ServiceToken) -> list[str] | None:
        """Return aliases."""
        if not token.is_scoped:
            return None
        return sorted(cluster.alias for cluster in token.clusters.all())


class NewTokenSerializer(BodySerializer):
    """A token to be made."""

    name = serializers.CharField(max_length=100, help_text="Program that uses the token.")
    role = serializers.ChoiceField(choices=RIGHTS)
    days = serializers.IntegerField(min_value=1, max_value=settings.TOKEN_DAYS)
    clusters = serializers.ListField(
        child=serializers.CharField(max_length=63),
        required=False,
        max_length=500,
        help_text="Aliases. Omitted: all clusters that you may view.",
    )


class MadeTokenSerializer(TokenSerializer):
    """A token as its creation answers, the only answer that has its secret."""

    secret = serializers.CharField(help_text="For `Authorization: Bearer`. Not shown again.")

    class Meta:
        model = ServiceToken
        fields = (*TokenSerializer.Meta.fields, "secret")
        read_only_fields = fields


class GrantSerializer(serializers.Serializer[Any]):
    """A role on one cluster."""

    cluster = serializers.CharField(source="cluster.alias")
    role = serializers.ChoiceField(choices=RIGHTS)


class PersonSerializer(serializers.ModelSerializer[User]):
    """An account."""

    grants = GrantSerializer(source="cluster_grants", many=True)
    signs_in_elsewhere = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = (
            "id",
            "username",
            "role",
            "grants",
            "is_active",
            "must_change_password",
            "signs_in_elsewhere",
            "date_joined",
            "last_login",
        )
        read_only_fields = fields

    def get_signs_in_elsewhere(self, person: User) -> bool:
        """Say whether the account belongs to OpenID Connect."""
        return bool(person.identity)


class NewPersonSerializer(BodySerializer):
    """An account to be made."""

    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(choices=Role.choices, required=False, default=Role.VIEWER)


class MadePersonSerializer(PersonSerializer):
    """An account as its creation answers, the only answer that has its one-time password."""

    password = serializers.CharField(help_text="For one sign-in. Not shown again.")

    class Meta:
        model = User
        fields = (*PersonSerializer.Meta.fields, "password")
        read_only_fields = fields


class ChangedPersonSerializer(BodySerializer):
    """What can be changed of an account."""

    shown_by = PersonSerializer

    role = serializers.ChoiceField(choices=Role.choices, required=False)
    is_active = serializers.BooleanField(required=False)


class ChangedGrantSerializer(BodySerializer):
    """A role on one cluster; an empty role takes it away."""

    cluster = serializers.CharField(max_length=63)
    role = serializers.ChoiceField(choices=RIGHTS, allow_blank=True)


class EntrySerializer(serializers.ModelSerializer[AuditEntry]):
    """An entry of the audit log; `before` and `after` have only the fields that differ."""

    actor = serializers.CharField(source="actor_name", allow_blank=True)
    token = serializers.CharField(source="token_name", allow_blank=True)
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)

    class Meta:
        model = AuditEntry
        fields = (
            "id",
            "at",
            "actor",
            "token",
            "action",
            "outcome",
            "subject",
            "cluster",
            "before",
            "after",
            "address",
            "request_id",
        )
        read_only_fields = fields


class EntryFilters(PageParameters):
    """Filters of the audit log."""

    actor = serializers.CharField(required=False, max_length=150, help_text="User name.")
    action = serializers.CharField(required=False, max_length=60, help_text="`flow.start`")
    subject = serializers.CharField(required=False, max_length=300, help_text="`cluster:east`")
    cluster = serializers.CharField(required=False, max_length=200, help_text="Alias of a cluster.")
    outcome = serializers.ChoiceField(
        choices=Outcome.choices, required=False, help_text="Result of the attempt."
    )
