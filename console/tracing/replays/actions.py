"""Actions on redrives: create one from a replay plan, apply or resume it, stop it."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction

from console.accounts.audit import audit_row, change
from console.accounts.models import User
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.runs.actions import ask_to_end
from console.runs.analyses.actions import ask
from console.runs.analyses.questions import Question
from console.runs.models import Run, RunState
from console.tracing.replays.models import Redrive
from console.tracing.replays.plan import check_age, find_plan, keep_plan, read_plan
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES

KIND = "redrive"
LONGEST_NAME = 100


@change("redrive.create")
def create_redrive(
    cluster: Cluster, run: Run, name: str, person: User | None, now: datetime
) -> Redrive:
    """Create a redrive from the run of a replay plan; no record is sent.

    Without a `name` it has the topics of the plan and the time. Raises `ActionRefused` and `InvalidFields`.
    """
    plan = read_plan(cluster, run, now)
    name = name.strip() or default_name(run, now)
    if len(name) > LONGEST_NAME or not name.isprintable():
        text = f"A name has at most {LONGEST_NAME} printable characters."
        raise InvalidFields({"name": text})
    checksum, plan["tiers"] = keep_plan(run, now)
    redrive = Redrive(cluster=cluster, name=name, plan_run=run, plan=plan, checksum=checksum)
    redrive.created_at, redrive.created_by = now, person
    try:
        with transaction.atomic():
            redrive.save(force_insert=True)
            after = {"name": name, "plan_run": str(run.pk), "checksum": checksum}
            audit_row("create", redrive, cluster=cluster.alias, after=after)
    except IntegrityError:
        text = f"A redrive named {name} already exists on this cluster."
        raise InvalidFields({"name": text}) from None
    return redrive


@change("redrive.apply")
def apply_redrive(
    redrive: Redrive, confirm: str, records_per_s: int, person: User | None, now: datetime
) -> Run:
    """Start the run of a redrive, or resume it: what is sent already is not sent again.

    `confirm` is the redrive's name, as the person typed it. Raises `ActionRefused` and `InvalidFields`.
    """
    if confirm.strip() != redrive.name:
        text = f"Type the redrive's name to confirm: {redrive.name}"
        raise InvalidFields({"confirm": text})
    with transaction.atomic():
        # Another request for the same redrive waits until this one has its run.
        row = Redrive.objects.select_for_update().get(pk=redrive.pk)
        if row.is_live:
            text = "A run of this redrive is in progress. Wait for its end, or stop it."
            raise ActionRefused("redrive_is_running", text)
        if not row.may_apply:
            raise ActionRefused("redrive_is_done", "All records of this plan were processed.")
        check_age((row.run and row.run.finished_at) or row.created_at, now)
        alias, plan = row.cluster.alias, find_plan(row.checksum, now)
        arguments = {"cluster": alias, "plan": plan, "plan_id": str(row.pk)}
        arguments = checked_arguments(ANALYSES[KIND], {**arguments, "records_per_s": records_per_s})
        verb = "resume" if row.run else "apply"
        question = Question(KIND, arguments, f"cluster:{row.cluster_id}", f"Redrive: {row.name}")
        row.run = ask(question, person, now).run
        row.records_per_s, row.applied_at, row.applied_by = records_per_s, now, person
        row.save(update_fields=["run", "records_per_s", "applied_at", "applied_by"])
        after = {"name": row.name, "run": str(row.run.pk), "records_per_s": records_per_s}
        audit_row(verb, row, cluster=alias, after={**after, "checksum": row.checksum})
        return row.run


@change("redrive.stop")
def stop_redrive(redrive: Redrive, now: datetime) -> None:
    """Stop the run of a redrive, which can be resumed; raises `ActionRefused` when none is in progress."""
    if redrive.run is None or redrive.run.state not in {RunState.QUEUED, RunState.RUNNING}:
        raise ActionRefused("redrive_is_not_running", "No run of this redrive is in progress.")
    ask_to_end(redrive.run.pk, now)
    after = {"name": redrive.name, "run": str(redrive.run.pk)}
    audit_row("stop", redrive, cluster=redrive.cluster.alias, after=after)


def default_name(run: Run, now: datetime) -> str:
    """Return the name of a redrive for which none is given."""
    topics = str(run.arguments.get("topics") or "all topics")
    return f"{topics[:70]} {now:%Y-%m-%d %H:%M:%S}"
