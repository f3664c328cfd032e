"""What a reassignment adds to and removes from a partition; null: not known."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0006_add_oauthbearer_and_key_password"),
    ]

    operations = [
        migrations.AddField(
            model_name="partition",
            name="adding",
            field=models.JSONField(blank=True, default=list, null=True),
        ),
        migrations.AddField(
            model_name="partition",
            name="removing",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="topic",
            name="unsure_count",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
