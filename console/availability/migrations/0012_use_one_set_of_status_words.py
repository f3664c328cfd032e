from django.db import migrations, models

SEVERITIES = {"notice": "info", "warn": "warning", "crit": "critical", "risk": "critical"}
RANKS = {"info": 2, "warning": 3, "critical": 4}
RANKS_BEFORE = {"notice": 1, "warn": 2, "crit": 4}


def write_severities(apps, schema_editor):
    """Write the words and ranks of `jobs.severity`."""
    rows = apps.get_model("availability", "PromotionFinding").objects
    for old, new in SEVERITIES.items():
        rows.filter(severity=old).update(severity=new, rank=RANKS[new])


def write_severities_before(apps, schema_editor):
    """Write the words and ranks of release 0.5, without the step that it had between warn and crit."""
    rows = apps.get_model("availability", "PromotionFinding").objects
    for old, rank in RANKS_BEFORE.items():
        rows.filter(severity=SEVERITIES[old]).update(severity=old, rank=rank)


CODES = ("nobody_sends_heartbeats", "no_standby_heartbeats")


def write_code(apps, schema_editor):
    """Write the code of promotion findings about standby brokers without heartbeats."""
    apps.get_model("availability", "PromotionFinding").objects.filter(code=CODES[0]).update(
        code=CODES[1]
    )


def write_code_before(apps, schema_editor):
    """Write the code of release 0.5."""
    apps.get_model("availability", "PromotionFinding").objects.filter(code=CODES[1]).update(
        code=CODES[0]
    )


class Migration(migrations.Migration):
    dependencies = [
        ("availability", "0001_squashed_0011"),
    ]

    operations = [
        migrations.RunPython(write_severities, write_severities_before),
        migrations.RunPython(write_code, write_code_before),
        migrations.AlterField(
            model_name="promotionfinding",
            name="severity",
            field=models.CharField(
                choices=[("info", "info"), ("warning", "warning"), ("critical", "critical")],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="drill",
            name="kind",
            field=models.CharField(
                choices=[
                    ("promotion", "Promotion on a test topic"),
                    ("what_if", "Simulation compared with a failure"),
                ],
                default="promotion",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="drill",
            name="state",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("succeeded", "Passed"),
                    ("partial", "Partly passed"),
                    ("refused", "Refused"),
                    ("failed", "Failed"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="promotionaction",
            name="state",
            field=models.CharField(
                choices=[
                    ("advised", "Advised"),
                    ("planned", "Planned"),
                    ("asked", "Requested"),
                    ("acting", "Acting"),
                    ("verified", "Promoted"),
                    ("revert_asked", "Revert requested"),
                    ("reverting", "Reverting"),
                    ("reverted", "Reverted"),
                    ("lapsed", "Expired"),
                    ("refused", "Refused"),
                    ("failed", "Failed"),
                ],
                default="advised",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="promotionaction",
            name="trigger",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "From the topic's placement"),
                    ("under-min-isr", "The ISR is below min.insync.replicas"),
                    ("under-replicated", "The ISR is below the sync replicas of the placement"),
                    ("leader-is-observer", "An observer leads after an unclean election"),
                ],
                default="",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="promotionpolicy",
            name="mode",
            field=models.CharField(
                choices=[("advise", "Advise"), ("act", "Automatic")],
                default="advise",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="promotionpolicy",
            name="policy",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "From the topic's placement"),
                    ("under-min-isr", "The ISR is below min.insync.replicas"),
                    ("under-replicated", "The ISR is below the sync replicas of the placement"),
                    ("leader-is-observer", "An observer leads after an unclean election"),
                ],
                default="",
                max_length=20,
            ),
        ),
    ]
