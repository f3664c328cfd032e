"""What was wrong in the files of a metadata log is kept beside its gaps."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("quorum", "0004_tell_what_is_odd_about_elections"),
    ]

    operations = [
        migrations.AddField(
            model_name="metadatalog",
            name="damage",
            field=models.JSONField(default=list),
        ),
    ]
