from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0010_add_custom_policies"),
    ]

    operations = [
        migrations.AlterField(
            model_name="flowround",
            name="noun",
            field=models.CharField(
                choices=[
                    ("positions", "Positions"),
                    ("source", "Source offsets"),
                    ("syncs", "Offset syncs"),
                ],
                max_length=20,
            ),
        ),
    ]
