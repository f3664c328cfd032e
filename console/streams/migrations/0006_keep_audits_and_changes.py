from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("streams", "0005_use_one_round"),
    ]

    operations = [
        migrations.AddField(
            model_name="streamsapplication",
            name="audit",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="streamsapplication",
            name="broker_description",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="streamssnapshot",
            name="change",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
