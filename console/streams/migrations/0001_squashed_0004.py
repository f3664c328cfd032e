"""What a new database gets in place of 0001 to 0004; an older one goes through these."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("streams", "0001_create_streams_applications"),
        ("streams", "0002_keep_changelogs_of_a_rebalance"),
        ("streams", "0003_say_what_is_left_out"),
        ("streams", "0004_count_what_totals_do_not_know"),
    ]

    initial = True

    dependencies = [
        ("clusters", "0005_fill_kafkas_counts"),
    ]

    operations = [
        migrations.CreateModel(
            name="StreamsApplication",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("application_id", models.CharField(max_length=1024)),
                (
                    "protocol",
                    models.CharField(
                        choices=[("classic", "Classic"), ("streams", "Streams")], max_length=10
                    ),
                ),
                ("state", models.CharField(max_length=40)),
                ("first_seen_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
                ("problem", models.TextField(blank=True)),
                ("instances", models.PositiveIntegerField(blank=True, null=True)),
                ("threads", models.PositiveIntegerField(blank=True, null=True)),
                ("tasks", models.PositiveIntegerField(blank=True, null=True)),
                ("tasks_without_thread", models.PositiveIntegerField(blank=True, null=True)),
                ("stores", models.PositiveIntegerField(blank=True, null=True)),
                ("lag_records", models.BigIntegerField(blank=True, null=True)),
                ("lag_at_most_ms", models.BigIntegerField(blank=True, null=True)),
                ("event_time_lag_ms", models.BigIntegerField(blank=True, null=True)),
                ("caution_count", models.PositiveIntegerField(default=0)),
                ("cautions", models.JSONField(blank=True, default=list)),
                ("answers_wrong", models.BooleanField(blank=True, null=True)),
                ("misrouted_share", models.FloatField(blank=True, null=True)),
                ("facts", models.BinaryField(blank=True, default=bytes)),
                ("facts_at", models.DateTimeField(blank=True, null=True)),
                ("description", models.TextField(blank=True)),
                ("described_at", models.DateTimeField(blank=True, null=True)),
                ("described_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="streams_applications",
                        to="clusters.cluster",
                    ),
                ),
                ("left_out", models.TextField(blank=True, default="")),
                ("lag_unknown_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["application_id"],
                "indexes": [models.Index(fields=["last_seen_at"], name="streams_last_seen")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "application_id"), name="one_row_per_streams_application"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StreamsRound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("succeeded_at", models.DateTimeField(blank=True, null=True)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("row_count", models.PositiveIntegerField(default=0)),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("error", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="streams_round",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StreamsSnapshot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("taken_at", models.DateTimeField()),
                ("generation", models.IntegerField(blank=True, null=True)),
                ("fingerprint", models.CharField(max_length=80)),
                ("content", models.BinaryField()),
                (
                    "application",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshots",
                        to="streams.streamsapplication",
                    ),
                ),
                ("changelogs", models.BinaryField(blank=True, default=bytes)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [models.Index(fields=["taken_at"], name="streams_snapshot_taken")],
            },
        ),
    ]
