from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0002_add_stages_of_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="attempts",
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
