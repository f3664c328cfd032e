from django.db import migrations, models

STATES = {"ERRORED": "CRASHED", "CANCELLED": "STOPPED"}


def write_states(apps, schema_editor):
    """Write the states of runs that ended: crashed and stopped."""
    for old, new in STATES.items():
        apps.get_model("runs", "Run").objects.filter(state=old).update(state=new)


def write_states_before(apps, schema_editor):
    """Write the states of release 0.5."""
    for old, new in STATES.items():
        apps.get_model("runs", "Run").objects.filter(state=new).update(state=old)


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0001_squashed_0005"),
    ]

    operations = [
        migrations.RunPython(write_states, write_states_before),
        migrations.AlterField(
            model_name="run",
            name="state",
            field=models.CharField(
                choices=[
                    ("QUEUED", "Queued"),
                    ("RUNNING", "Running"),
                    ("SUCCEEDED", "Succeeded"),
                    ("FAILED", "Failed"),
                    ("CRASHED", "Crashed"),
                    ("STOPPED", "Stopped"),
                ],
                default="QUEUED",
                max_length=10,
            ),
        ),
    ]
