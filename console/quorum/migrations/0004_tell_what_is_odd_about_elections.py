"""Epochs without a leader, silences and storms on the rows of elections; silences that none ended."""

import django.db.models.deletion
from django.db import migrations, models

SILENCE_MS, STORM_ELECTIONS, STORM_S = 1_500, 5, 600
BATCH = 1_000


def fill(apps, schema_editor):
    """Tell of elections that are stored already what their rows say: without gaps of the log between."""
    elections = apps.get_model("quorum", "Election")
    for log in apps.get_model("quorum", "MetadataLog").objects.all():
        gaps = [gap["to"] for gap in log.gaps]
        rows = list(elections.objects.filter(log=log).order_by("offset"))
        for before, row in zip(rows, rows[1:]):
            if not any(before.offset < end <= row.offset for end in gaps):
                row.skipped_epochs = max(row.epoch - before.epoch - 1, 0)
        for row in rows:
            row.is_silence = (row.gap_ms or 0) > SILENCE_MS
        for begin in range(len(rows) - STORM_ELECTIONS + 1):
            near = rows[begin : begin + STORM_ELECTIONS]
            if (near[-1].at - near[0].at).total_seconds() <= STORM_S:
                for row in near:
                    row.is_in_storm = True
        fields = ["skipped_epochs", "is_silence", "is_in_storm"]
        elections.objects.bulk_update(rows, fields, batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [
        ("quorum", "0003_read_changes_in_order_of_effect"),
    ]

    operations = [
        migrations.AddField(
            model_name="election",
            name="is_in_storm",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="election",
            name="is_silence",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="election",
            name="skipped_epochs",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="metadatalog",
            name="judged_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="ControllerSilence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("from_offset", models.BigIntegerField()),
                ("to_offset", models.BigIntegerField()),
                ("from_at", models.DateTimeField()),
                ("to_at", models.DateTimeField()),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="silences",
                        to="quorum.metadatalog",
                    ),
                ),
            ],
            options={
                "ordering": ["to_offset"],
                "indexes": [models.Index(fields=["log", "to_at"], name="silence_at")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("log", "to_offset"), name="one_silence_per_offset"
                    )
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
