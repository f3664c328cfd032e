"""What a new database gets in place of 0001 to 0002; an older one goes through these."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("schedules", "0001_add_schedules"), ("schedules", "0002_keep_rights_of_requests")]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Schedule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=40)),
                ("arguments", models.JSONField(default=dict)),
                ("cron", models.CharField(max_length=100)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("is_enabled", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                ("next_at", models.DateTimeField(blank=True, db_index=True, null=True)),
                ("last_at", models.DateTimeField(blank=True, null=True)),
                (
                    "last_outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("started", "Started"),
                            ("left_out", "Left out"),
                            ("failed", "Failed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("last_sentence", models.TextField(blank=True)),
                ("last_ref", models.CharField(blank=True, max_length=100)),
                ("last_started_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
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
            name="ScheduleFiring",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("at", models.DateTimeField()),
                ("missed", models.PositiveIntegerField(default=0)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("left_out", "Left out"),
                            ("failed", "Failed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("sentence", models.TextField(blank=True)),
                ("ref", models.CharField(blank=True, max_length=100)),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="firings",
                        to="schedules.schedule",
                    ),
                ),
            ],
        ),
    ]
