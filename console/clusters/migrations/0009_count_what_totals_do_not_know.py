"""How many partitions the lag in time of a group does not know."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0008_reassignments"),
    ]

    operations = [
        migrations.AddField(
            model_name="group",
            name="unknown_ms_count",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
