"""Whether OK is no verdict is stored: it is more than a reassignment that may not be known."""

from django.db import migrations, models


def fill(apps, schema_editor):
    """Take over what followed from the columns."""
    rows = apps.get_model("clusters", "Partition").objects.filter(adding__isnull=True, severity=0)
    rows.update(is_unsure=True)


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0013_date_versions_of_brokers"),
    ]

    operations = [
        migrations.AddField("partition", "is_unsure", models.BooleanField(default=False)),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
