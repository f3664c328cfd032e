from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0012_index_sorted_checkpoints"),
    ]

    operations = [
        migrations.AddField(
            model_name="replicationflow",
            name="task_crashes",
            field=models.JSONField(blank=True, default=list),
        ),
    ]
