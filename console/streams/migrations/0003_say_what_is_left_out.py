from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep what of an application is beyond the limits."""

    dependencies = [("streams", "0002_keep_changelogs_of_a_rebalance")]

    operations = [
        migrations.AddField(
            model_name="streamsapplication",
            name="left_out",
            field=models.TextField(blank=True, default=""),
        ),
    ]
