from django.db import migrations, models
from django.db.models import Q

_LIVE = Q(state__in=["QUEUED", "RUNNING"])


class Migration(migrations.Migration):
    """Several analyses of one subject may be live; only one of them runs, and none is there twice."""

    dependencies = [
        ("runs", "0003_count_attempts_of_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="question_key",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.RemoveConstraint(model_name="run", name="one_live_run_per_subject"),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=["subject"],
                condition=Q(state__in=["QUEUED", "RUNNING"], question_key="") & ~Q(subject=""),
                name="one_live_run_per_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=["question_key"],
                condition=_LIVE & ~Q(question_key=""),
                name="one_live_run_per_question",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=["subject"],
                condition=Q(state="RUNNING") & ~Q(question_key="") & ~Q(subject=""),
                name="one_running_analysis_per_subject",
            ),
        ),
    ]
