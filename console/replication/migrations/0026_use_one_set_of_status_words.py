from django.db import migrations, models

SEVERITIES = {"notice": "info", "warn": "warning", "crit": "critical", "risk": "critical"}
RANKS = {"info": 2, "warning": 3, "critical": 4}
RANKS_BEFORE = {"notice": 1, "warn": 2, "crit": 4}


def write_severities(apps, schema_editor):
    """Write the words and ranks of `jobs.severity`."""
    rows = apps.get_model("replication", "FlowFinding").objects
    for old, new in SEVERITIES.items():
        rows.filter(severity=old).update(severity=new, rank=RANKS[new])


def write_severities_before(apps, schema_editor):
    """Write the words and ranks of release 0.5, without the step that it had between warn and crit."""
    rows = apps.get_model("replication", "FlowFinding").objects
    for old, rank in RANKS_BEFORE.items():
        rows.filter(severity=SEVERITIES[old]).update(severity=old, rank=rank)


WORDS = (
    ("FailoverPlan", "verdict", (("ok", "passed"), ("warn", "warning"), ("block", "failed"))),
    ("FailoverPlanGroup", "verdict", (("ok", "passed"), ("warn", "warning"), ("block", "failed"))),
    ("FlowReadiness", "readiness", (("caution", "warning"),)),
    ("FlowReadiness", "found", (("caution", "warning"),)),
    ("GroupReadiness", "readiness", (("caution", "warning"),)),
    ("GroupReadiness", "found", (("caution", "warning"),)),
    ("TopicReadiness", "readiness", (("caution", "warning"),)),
    ("TopicReadiness", "found", (("caution", "warning"),)),
    ("ReadinessChange", "readiness", (("caution", "warning"),)),
)


def write_words(apps, schema_editor):
    """Write the words of readiness and of pre-checks."""
    for model, column, words in WORDS:
        for old, new in words:
            apps.get_model("replication", model).objects.filter(**{column: old}).update(
                **{column: new}
            )


def write_words_before(apps, schema_editor):
    """Write the words of release 0.5."""
    for model, column, words in WORDS:
        for old, new in words:
            apps.get_model("replication", model).objects.filter(**{column: new}).update(
                **{column: old}
            )


def rename_counts(apps, old, new):
    """Write the counts of groups by readiness with the new word."""
    rows = apps.get_model("replication", "FlowReadiness").objects
    for row in rows.filter(counts__has_key=old):
        row.counts[new] = row.counts.pop(old)
        row.save(update_fields=["counts"])


def write_counts(apps, schema_editor):
    """Write `warning` for `caution`."""
    rename_counts(apps, "caution", "warning")


def write_counts_before(apps, schema_editor):
    """Write the word of release 0.5."""
    rename_counts(apps, "warning", "caution")


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0025_write_topic_ids_as_kafka_does"),
    ]

    operations = [
        migrations.RunPython(write_severities, write_severities_before),
        migrations.RunPython(write_words, write_words_before),
        migrations.RunPython(write_counts, write_counts_before),
        migrations.AlterField(
            model_name="failoverplan",
            name="verdict",
            field=models.CharField(
                blank=True,
                choices=[
                    ("passed", "passed"),
                    ("unknown", "unknown"),
                    ("warning", "warning"),
                    ("failed", "failed"),
                ],
                default="",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="failoverplangroup",
            name="verdict",
            field=models.CharField(
                choices=[
                    ("passed", "passed"),
                    ("unknown", "unknown"),
                    ("warning", "warning"),
                    ("failed", "failed"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="flowfinding",
            name="severity",
            field=models.CharField(
                choices=[("info", "info"), ("warning", "warning"), ("critical", "critical")],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="found",
            field=models.CharField(
                blank=True,
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="flowreadiness",
            name="readiness",
            field=models.CharField(
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="unknown",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="groupreadiness",
            name="found",
            field=models.CharField(
                blank=True,
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="groupreadiness",
            name="readiness",
            field=models.CharField(
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="unknown",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="readinesschange",
            name="readiness",
            field=models.CharField(
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="unknown",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="topicreadiness",
            name="found",
            field=models.CharField(
                blank=True,
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="topicreadiness",
            name="readiness",
            field=models.CharField(
                choices=[
                    ("not_covered", "not covered"),
                    ("ready", "ready"),
                    ("warning", "warning"),
                    ("unknown", "unknown"),
                    ("blocked", "blocked"),
                ],
                default="unknown",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="failoverplangroup",
            name="state",
            field=models.CharField(
                choices=[
                    ("planned", "Planned"),
                    ("applied", "Applied"),
                    ("undone", "Rolled back"),
                    ("refused", "Refused"),
                    ("failed", "Failed"),
                ],
                default="planned",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="failoverrun",
            name="kind",
            field=models.CharField(
                choices=[("rehearsal", "Dry run"), ("apply", "Apply"), ("undo", "Roll back")],
                max_length=10,
            ),
        ),
    ]
