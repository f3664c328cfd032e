"""What a new database gets in place of 0001 to 0005; an older one goes through these."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("runs", "0001_add_runs"),
        ("runs", "0002_add_stages_of_runs"),
        ("runs", "0003_count_attempts_of_runs"),
        ("runs", "0004_let_analyses_wait"),
        ("runs", "0005_keep_rights_of_requests"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("subject", models.CharField(blank=True, max_length=100)),
                ("title", models.CharField(max_length=200)),
                ("arguments", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("QUEUED", "Queued"),
                            ("RUNNING", "Running"),
                            ("SUCCEEDED", "Succeeded"),
                            ("FAILED", "Failed"),
                            ("ERRORED", "Errored"),
                            ("CANCELLED", "Cancelled"),
                        ],
                        default="QUEUED",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("reported_at", models.DateTimeField(blank=True, null=True)),
                ("cancel_requested_at", models.DateTimeField(blank=True, null=True)),
                ("host", models.CharField(blank=True, max_length=255)),
                ("folder", models.CharField(blank=True, max_length=500)),
                ("progress", models.JSONField(blank=True, null=True)),
                ("summary", models.JSONField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("stages", models.JSONField(blank=True, default=dict)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("question_key", models.CharField(blank=True, default="", max_length=64)),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["subject", "-created_at"], name="run_subject_created"),
                    models.Index(fields=["state"], name="run_state"),
                    models.Index(fields=["-created_at"], name="run_created"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("question_key", ""),
                            ("state__in", ["QUEUED", "RUNNING"]),
                            models.Q(("subject", ""), _negated=True),
                        ),
                        fields=("subject",),
                        name="one_live_run_per_subject",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state__in", ["QUEUED", "RUNNING"]),
                            models.Q(("question_key", ""), _negated=True),
                        ),
                        fields=("question_key",),
                        name="one_live_run_per_question",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state", "RUNNING"),
                            models.Q(("question_key", ""), _negated=True),
                            models.Q(("subject", ""), _negated=True),
                        ),
                        fields=("subject",),
                        name="one_running_analysis_per_subject",
                    ),
                ],
            },
        ),
    ]
