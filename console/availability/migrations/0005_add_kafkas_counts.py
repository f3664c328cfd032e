"""In which of Kafka's counts a partition is; the states stay beside them."""

from django.db import migrations, models

STATES = ("under_replicated", "at_min_isr", "under_min_isr")


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0004_controller_sites"),
    ]

    operations = [
        migrations.AddField(
            model_name="partitionstatus",
            name="counted_text",
            field=models.CharField(blank=True, max_length=60),
        ),
        *(
            migrations.AddField(
                model_name="rollup",
                name=f"state_{name}",
                field=models.IntegerField(default=0),
            )
            for name in STATES
        ),
    ]
