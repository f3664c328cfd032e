"""A naming policy given by templates."""

from django.db import migrations, models

import jobs.replication.flow.spec


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0009_add_failover_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="replicationflow",
            name="custom_policy",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AlterField(
            model_name="replicationflow",
            name="policy",
            field=models.CharField(
                choices=[("default", "default"), ("identity", "identity"), ("custom", "custom")],
                default=jobs.replication.flow.spec.PolicyName["DEFAULT"],
                max_length=20,
            ),
        ),
    ]
