from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def keep_claims(apps, schema_editor):
    """Write when a flow is measured next to the row of its source; a flow without one is due at once."""
    flows = apps.get_model("replication", "ReplicationFlow").objects.order_by()
    of_flow = flows.filter(pk=OuterRef("flow")).values("claimed_until")
    rounds = apps.get_model("replication", "FlowRound").objects.filter(noun="source")
    rounds.update(claimed_until=Subquery(of_flow))


def keep_claims_before(apps, schema_editor):
    """Write it to the flow."""
    rounds = apps.get_model("replication", "FlowRound").objects.order_by()
    of_flow = rounds.filter(flow=OuterRef("pk"), noun="source").values("claimed_until")
    apps.get_model("replication", "ReplicationFlow").objects.update(claimed_until=Subquery(of_flow))


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0026_use_one_set_of_status_words"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="flowround",
            name="started_at",
        ),
        migrations.AddField(
            model_name="flowreadiness",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
        migrations.AddField(
            model_name="flowreadiness",
            name="finished_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="flowround",
            name="claimed_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunPython(keep_claims, keep_claims_before),
        migrations.RemoveField(
            model_name="replicationflow",
            name="claimed_until",
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="claimed_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="duration_ms",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="error",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="failing_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="hint",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="succeeded_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="flowround",
            name="error",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="flowround",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
        migrations.AlterField(
            model_name="flowround",
            name="hint",
            field=models.TextField(blank=True, default=""),
        ),
    ]
