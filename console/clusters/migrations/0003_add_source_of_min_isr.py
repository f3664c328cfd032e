"""Where min.insync.replicas of a topic comes from; filled by the next rounds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0002_find_group_offsets_by_topic"),
    ]

    operations = [
        migrations.AddField(
            model_name="topic",
            name="min_isr_source",
            field=models.CharField(blank=True, max_length=40),
        ),
    ]
