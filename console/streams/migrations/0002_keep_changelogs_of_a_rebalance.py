"""Starts and ends of the changelogs when an assignment was first seen; of older ones they are not known."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("streams", "0001_create_streams_applications"),
    ]

    operations = [
        migrations.AddField(
            model_name="streamssnapshot",
            name="changelogs",
            field=models.BinaryField(blank=True, default=bytes),
        ),
    ]
