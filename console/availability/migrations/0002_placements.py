"""Placements that people assign, and the picture of a cluster that what-if starts from."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0001_availability"),
        ("clusters", "0002_find_group_offsets_by_topic"),
    ]

    operations = [
        migrations.CreateModel(
            name="TopicPlacement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("exact", "Exactly this topic"),
                            ("glob", "A glob: orders.*"),
                            ("regex", "A regular expression over the whole name"),
                        ],
                        default="exact",
                        max_length=10,
                    ),
                ),
                ("pattern", models.CharField(max_length=249)),
                ("priority", models.PositiveIntegerField(default=0)),
                ("document", models.JSONField()),
                ("note", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("changed_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="placements",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={"ordering": ["cluster", "kind", "-priority", "pattern"]},
        ),
        migrations.AddConstraint(
            model_name="topicplacement",
            constraint=models.UniqueConstraint(
                fields=("cluster", "kind", "pattern"), name="one_placement_per_pattern"
            ),
        ),
        migrations.CreateModel(
            name="WhatIfPicture",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("made_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                ("digest", models.CharField(max_length=64)),
                ("packed", models.BinaryField()),
                ("partition_count", models.PositiveIntegerField(default=0)),
                ("topic_count", models.PositiveIntegerField(default=0)),
                ("gaps", models.JSONField(default=list)),
                ("matrix", models.JSONField(blank=True, null=True)),
                ("matrix_digest", models.CharField(blank=True, max_length=64)),
                ("matrix_at", models.DateTimeField(blank=True, null=True)),
                ("matrix_ms", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="what_if_picture",
                        to="clusters.cluster",
                    ),
                ),
            ],
        ),
    ]
