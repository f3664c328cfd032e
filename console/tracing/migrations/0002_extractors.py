"""Extractors that people made for a cluster."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0017_log_dirs_of_brokers"),
        ("tracing", "0001_redrives"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoredExtractor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("definition", models.JSONField()),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("changed_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="extractors",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "verbose_name": "extractor",
                "ordering": ["name"],
            },
        ),
    ]
