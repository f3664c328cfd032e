from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0002_take_findings_of_rooms"),
        ("replication", "0028_watch_is_a_round"),
    ]

    operations = [
        migrations.DeleteModel(name="FlowFinding"),
    ]
