"""Where controllers stand that are no brokers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0003_promotion"),
        ("clusters", "0003_add_source_of_min_isr"),
    ]

    operations = [
        migrations.CreateModel(
            name="ControllerSite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("node_id", models.IntegerField()),
                ("site", models.CharField(max_length=255)),
                ("changed_at", models.DateTimeField()),
                ("changed_by", models.CharField(blank=True, max_length=150)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="controller_sites",
                        to="clusters.cluster",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "node_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "node_id"), name="one_site_per_controller"
                    )
                ],
            },
        ),
    ]
