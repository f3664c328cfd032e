"""Give reports, schedules and policies that a token made the limits of that token, as the trail names it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import migrations

_MADE = {
    "report.create": ("report:", "reports", "Report"),
    "schedule.create": ("schedule:", "schedules", "Schedule"),
}
_OPTED_IN = ("promotion.policy_create", "promotion.policy_change")
# The entry is written in the request that switched a policy on.
_REQUEST = timedelta(minutes=1)


def narrow(apps: Any, schema_editor: Any) -> None:
    tokens = {
        token.prefix: token
        for token in apps.get_model("accounts", "ServiceToken").objects.prefetch_related("clusters")
    }
    actions = [*_MADE, *_OPTED_IN]
    entries = apps.get_model("accounts", "AuditEntry").objects.filter(action__in=actions)
    for entry in entries.exclude(token_name="").order_by("pk").iterator():
        token = tokens.get(entry.token_name.rpartition("(")[2].rstrip(")"))
        if token is not None:
            _rows_of(apps, entry).filter(asked_with={}).update(asked_with=_asked(token))


def _rows_of(apps: Any, entry: Any) -> Any:
    if entry.action in _OPTED_IN:
        policies = apps.get_model("availability", "PromotionPolicy").objects
        return policies.filter(
            cluster__alias=entry.cluster,
            pattern=entry.subject.removeprefix("promotion-policy:"),
            opted_in_at__range=(entry.at - _REQUEST, entry.at),
        )
    before, app, name = _MADE[entry.action]
    number = entry.subject.removeprefix(before)
    rows = apps.get_model(app, name).objects
    return rows.filter(pk=number) if number.isdecimal() else rows.none()


def _asked(token: Any) -> dict[str, Any]:
    scope = token.clusters.all() if token.is_scoped else ()
    clusters = {str(cluster.pk): token.role for cluster in scope}
    role = "none" if token.is_scoped else token.role
    return {"role": role, "clusters": clusters, "token": token.pk}


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0002_keep_rights_of_requests"),
        ("accounts", "0006_add_sign_in_failures"),
        ("availability", "0008_keep_rights_of_requests"),
        ("schedules", "0002_keep_rights_of_requests"),
    ]

    operations = [migrations.RunPython(narrow, migrations.RunPython.noop)]
