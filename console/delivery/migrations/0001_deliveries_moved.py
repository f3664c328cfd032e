"""The outbox of reports becomes the outbox of all rooms: its table keeps its rows."""

import django.db.models.deletion
from django.db import migrations, models

CHANNELS = [("email", "E-mail"), ("folder", "Folder"), ("webhook", "Webhook")]
STATES = [
    ("pending", "Pending"),
    ("delivered", "Delivered"),
    ("refused", "Refused"),
    ("gave_up", "Gave up"),
]


class Migration(migrations.Migration):
    initial = True
    dependencies = [("reports", "0003_narrow_what_tokens_asked")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Delivery",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        ("channel", models.CharField(choices=CHANNELS, max_length=10)),
                        ("address", models.CharField(max_length=500)),
                        (
                            "state",
                            models.CharField(choices=STATES, default="pending", max_length=10),
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
                        "db_table": "reports_delivery",
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("run", "channel", "address"),
                                name="one_delivery_per_address",
                            )
                        ],
                    },
                )
            ]
        )
    ]
