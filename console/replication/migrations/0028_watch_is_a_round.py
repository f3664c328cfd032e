from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replication", "0027_use_one_round")]

    operations = [
        migrations.RenameField("flowwatch", old_name="looked_at", new_name="finished_at"),
        migrations.AddField(
            model_name="flowwatch",
            name="succeeded_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="flowwatch",
            name="failing_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="flowwatch",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
        migrations.AddField(
            model_name="flowwatch",
            name="error",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="flowwatch",
            name="hint",
            field=models.TextField(blank=True, default=""),
        ),
    ]
