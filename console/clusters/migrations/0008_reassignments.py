"""What a reassignment adds to and removes from a partition; null: not known."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0007_write_topic_ids_as_kafka_does"),
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
