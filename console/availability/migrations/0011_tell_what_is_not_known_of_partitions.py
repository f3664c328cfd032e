"""Whether OK is no verdict is stored, and whether leaders limit min.insync.replicas by the replicas."""

from django.db import migrations, models


def fill(apps, schema_editor):
    """Take over what followed from the columns; the next round judges by the brokers' release."""
    statuses = apps.get_model("availability", "PartitionStatus").objects
    statuses.filter(adding__isnull=True, severity=0).update(is_unsure=True)


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0010_reassignments_fill_counts"),
    ]

    operations = [
        migrations.AddField("partitionstatus", "is_unsure", models.BooleanField(default=False)),
        migrations.AddField(
            "partitionstatus",
            "limits_min_isr",
            models.BooleanField(blank=True, default=True, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
