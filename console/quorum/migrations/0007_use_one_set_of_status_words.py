from django.db import migrations, models

SEVERITIES = {"notice": "info", "warn": "warning", "crit": "critical", "risk": "critical"}
RANKS = {"info": 2, "warning": 3, "critical": 4}
RANKS_BEFORE = {"notice": 1, "warn": 2, "crit": 4}


def write_severities(apps, schema_editor):
    """Write the words and ranks of `jobs.severity`."""
    rows = apps.get_model("quorum", "QuorumFinding").objects
    for old, new in SEVERITIES.items():
        rows.filter(severity=old).update(severity=new, rank=RANKS[new])


def write_severities_before(apps, schema_editor):
    """Write the words and ranks of release 0.5, without the step that it had between warn and crit."""
    rows = apps.get_model("quorum", "QuorumFinding").objects
    for old, rank in RANKS_BEFORE.items():
        rows.filter(severity=SEVERITIES[old]).update(severity=old, rank=rank)


class Migration(migrations.Migration):
    dependencies = [
        ("quorum", "0001_squashed_0006"),
    ]

    operations = [
        migrations.RunPython(write_severities, write_severities_before),
        migrations.AlterField(
            model_name="quorumfinding",
            name="severity",
            field=models.CharField(
                choices=[("info", "info"), ("warning", "warning"), ("critical", "critical")],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="metadatachange",
            name="kind",
            field=models.CharField(
                choices=[
                    ("partition", "Partition"),
                    ("topic", "Topic"),
                    ("broker", "Broker"),
                    ("controller", "Controller"),
                    ("config", "Config"),
                    ("feature", "Feature"),
                    ("quota", "Quota"),
                    ("acl", "ACL"),
                    ("producer_ids", "Producer IDs"),
                    ("scram", "SCRAM credential"),
                    ("delegation_token", "Delegation token"),
                    ("anomaly", "Anomaly"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="metadatasubject",
            name="kind",
            field=models.CharField(
                choices=[
                    ("partition", "Partition"),
                    ("topic", "Topic"),
                    ("broker", "Broker"),
                    ("controller", "Controller"),
                    ("config", "Config"),
                    ("feature", "Feature"),
                    ("quota", "Quota"),
                    ("acl", "ACL"),
                    ("producer_ids", "Producer IDs"),
                    ("scram", "SCRAM credential"),
                    ("delegation_token", "Delegation token"),
                    ("anomaly", "Anomaly"),
                ],
                max_length=20,
            ),
        ),
    ]
