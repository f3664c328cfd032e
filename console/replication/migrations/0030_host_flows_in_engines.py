from django.db import migrations, models

from jobs.replication.flow.spec import FlowEngine


class Migration(migrations.Migration):
    dependencies = [("replication", "0029_findings_moved")]

    operations = [
        migrations.AddField(
            model_name="replicationflow",
            name="engine",
            field=models.CharField(
                choices=[("shared", "shared"), ("own", "own")],
                default=FlowEngine.SHARED,
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="replicationflow",
            name="hosting",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="replicationflow",
            name="set_apart_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
