from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0002_take_findings_of_rooms"),
        ("quorum", "0008_use_one_round"),
    ]

    operations = [
        migrations.DeleteModel(name="QuorumFinding"),
    ]
