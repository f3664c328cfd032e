"""Give reports and schedules that a token made the limits of that token, as the audit trail names it."""

from __future__ import annotations

from typing import Any

from django.db import migrations

_MADE = {
    "report.create": ("report:", "reports", "Report"),
    "schedule.create": ("schedule:", "schedules", "Schedule"),
}


def narrow(apps: Any, schema_editor: Any) -> None:
    tokens = {
        token.prefix: token
        for token in apps.get_model("accounts", "ServiceToken").objects.prefetch_related("clusters")
    }
    entries = apps.get_model("accounts", "AuditEntry").objects.filter(action__in=_MADE)
    for entry in entries.exclude(token_name="").order_by("pk").iterator():
        before, app, name = _MADE[entry.action]
        number = entry.subject.removeprefix(before)
        token = tokens.get(entry.token_name.rpartition("(")[2].rstrip(")"))
        if token is not None and number.isdecimal():
            rows = apps.get_model(app, name).objects.filter(pk=number, asked_with={})
            rows.update(asked_with=_asked(token))


def _asked(token: Any) -> dict[str, Any]:
    scope = token.clusters.all() if token.is_scoped else ()
    clusters = {str(cluster.pk): token.role for cluster in scope}
    role = "none" if token.is_scoped else token.role
    return {"role": role, "clusters": clusters, "token": token.pk}


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_add_sign_in_failures"),
        ("reports", "0002_keep_rights_of_requests"),
        ("schedules", "0002_keep_rights_of_requests"),
    ]

    operations = [migrations.RunPython(narrow, migrations.RunPython.noop)]
