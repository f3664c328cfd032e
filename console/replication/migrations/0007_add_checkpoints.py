from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0006_add_readiness_and_checkpoint_lag"),
    ]

    operations = [
        migrations.AddField(
            model_name="replicationflow",
            name="emit_checkpoints_interval_s",
            field=models.PositiveIntegerField(default=60),
        ),
        migrations.AddField(
            model_name="replicationflow",
            name="sync_group_offsets",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="replicationflow",
            name="sync_group_offsets_interval_s",
            field=models.PositiveIntegerField(default=60),
        ),
        migrations.AddField(
            model_name="replicationflow",
            name="checkpoint_writing",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
