"""Paths of webhooks, mailboxes and secrets leave the entries that were written before they were masked.

The database guards the trail against changes (0005): it is released for this migration only, in its transaction.
"""

from importlib import import_module

from django.db import migrations

from console.frame.security.masking import masked, shown_address

FIELDS = ("before", "after", "subject")
ROWS_AT_ONCE = 2000
append_only = import_module("console.accounts.migrations.0005_make_audit_trail_append_only")


def mask(apps, schema_editor):
    entries = apps.get_model("accounts", "AuditEntry").objects.using(schema_editor.connection.alias)
    append_only.release(apps, schema_editor)
    for entry in entries.only("action", *FIELDS).order_by("pk").iterator(ROWS_AT_ONCE):
        kept = {name: getattr(entry, name) for name in FIELDS}
        shown = {name: masked(value) for name, value in kept.items()}
        if entry.action == "report.test_delivery" and entry.subject.startswith("email "):
            # Subject and sentence named the mailbox.
            shown["subject"] = shown_address(entry.subject)
            shown["after"] = {
                name: shown_address(str(text)) for name, text in (entry.after or {}).items()
            }
        shown["subject"] = shown["subject"][:300]
        if shown != kept:
            entries.filter(pk=entry.pk).update(**shown)
    append_only.guard(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_add_sign_in_failures"),
    ]

    operations = [
        # What is masked cannot be shown again: backwards there is nothing to do.
        migrations.RunPython(mask, migrations.RunPython.noop),
    ]
