from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("schedules", "0001_squashed_0002"),
    ]

    operations = [
        migrations.AlterField(
            model_name="schedule",
            name="last_outcome",
            field=models.CharField(
                blank=True,
                choices=[("started", "Started"), ("left_out", "Skipped"), ("failed", "Failed")],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="schedulefiring",
            name="outcome",
            field=models.CharField(
                choices=[("started", "Started"), ("left_out", "Skipped"), ("failed", "Failed")],
                max_length=10,
            ),
        ),
    ]
