"""In which of Kafka's counts a partition is, beside its state."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0003_add_source_of_min_isr"),
    ]

    operations = [
        migrations.AddField(
            model_name="partition",
            name="counted_text",
            field=models.CharField(blank=True, max_length=60),
        ),
    ]
