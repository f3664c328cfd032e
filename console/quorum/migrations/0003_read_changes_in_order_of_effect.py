"""Other rooms read on from where they were, in the order in which changes took effect."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("quorum", "0002_add_retention_of_changes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="metadatachange",
            index=models.Index(
                fields=["log", "effective_offset", "offset", "number"], name="change_by_effect"
            ),
        ),
    ]
