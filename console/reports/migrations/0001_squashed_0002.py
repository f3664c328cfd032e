"""What a new database gets in place of 0001 to 0002; an older one goes through these."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("reports", "0001_add_reports"), ("reports", "0002_keep_rights_of_requests")]

    initial = True

    dependencies = [
        ("clusters", "0005_fill_kafkas_counts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Report",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=40)),
                ("subjects", models.JSONField(default=list)),
                ("period", models.CharField(max_length=20)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("with_before", models.BooleanField(default=True)),
                ("formats", models.JSONField(default=list)),
                ("paper", models.CharField(default="a4", max_length=10)),
                ("recipients", models.JSONField(default=list)),
                ("keep_days", models.PositiveIntegerField(default=400)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="ReportRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=40)),
                ("subjects", models.JSONField(default=list)),
                ("period_start", models.DateTimeField()),
                ("period_end", models.DateTimeField()),
                ("period_name", models.CharField(blank=True, default="", max_length=20)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("with_before", models.BooleanField(default=True)),
                ("formats", models.JSONField(default=list)),
                ("paper", models.CharField(default="a4", max_length=10)),
                ("recipients", models.JSONField(default=list)),
                ("keep_days", models.PositiveIntegerField(default=400)),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("schedule", "Schedule"),
                            ("person", "Person"),
                            ("preview", "Preview"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("waiting", "Waiting for analyses"),
                            ("building", "Building"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("cluster_count", models.PositiveIntegerField(default=0)),
                ("for_admins", models.BooleanField(default=False)),
                ("answers", models.JSONField(default=dict)),
                ("files", models.JSONField(default=dict)),
                ("headline", models.TextField(blank=True, default="")),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "clusters",
                    models.ManyToManyField(blank=True, related_name="+", to="clusters.cluster"),
                ),
                (
                    "person",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="reports.report",
                    ),
                ),
                ("asked_with", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(fields=["state"], name="report_run_state"),
                    models.Index(fields=["report", "-created_at"], name="report_run_of_report"),
                    models.Index(fields=["created_at"], name="report_run_created"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        choices=[("email", "E-mail"), ("folder", "Folder"), ("webhook", "Webhook")],
                        max_length=10,
                    ),
                ),
                ("address", models.CharField(max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("refused", "Refused"),
                            ("gave_up", "Gave up"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("next_at", models.DateTimeField(blank=True, db_index=True, null=True)),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("tried_since", models.DateTimeField(blank=True, null=True)),
                (
                    "message_id",
                    models.CharField(blank=True, db_index=True, default="", max_length=400),
                ),
                ("log", models.JSONField(default=list)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="reports.reportrun",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "channel", "address"), name="one_delivery_per_address"
                    )
                ],
            },
        ),
    ]
