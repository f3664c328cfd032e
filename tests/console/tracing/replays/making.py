"""Runs of replay plans as their job writes them, and redrives of them."""

import uuid
from datetime import timedelta

from django.utils import timezone

from console.runs.analyses.results import own_document
from console.runs.analyses.spec import tables_of
from console.tracing.replays.models import Redrive
from jobs.spark.analyses.analysis import Analysis, Answer, Column, ColumnType, Table
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.tracing.replay_plan import DUPLICATES, ORDER
from tests.console.making import make_run
from tests.console.runs.analyses.making import put

RECORDS = Table(
    "records",
    "Records",
    (
        Column("topic", "Topic", ColumnType.TEXT),
        Column("partition", "Partition", ColumnType.INTEGER),
        Column("offset", "Offset", ColumnType.OFFSET),
        Column("at_ms", "Time", ColumnType.MOMENT),
        Column("action", "Action", ColumnType.CODE),
        Column("reason", "Reason", ColumnType.TEXT),
        Column("target_topic", "Target topic", ColumnType.TEXT),
        Column("from_topic", "From topic", ColumnType.TEXT),
        Column("from_partition", "From partition", ColumnType.INTEGER),
        Column("from_offset", "From offset", ColumnType.OFFSET),
        Column("from_topic_id", "From topic ID", ColumnType.TEXT),
        Column("tier", "Tier", ColumnType.CODE),
        Column("replays", "Replays", ColumnType.INTEGER),
        Column("step", "Step", ColumnType.TEXT),
        Column("error", "Error", ColumnType.TEXT),
        Column("bytes", "Size", ColumnType.BYTES),
    ),
)
ANALYSIS = Analysis(
    kind="replay-plan", title="Replay plan", question="Which records can be sent again?",
    arguments=(), tables=(RECORDS,), run=lambda task, arguments: Answer(),
)  # fmt: skip
FACTS = {
    "records": 3, "send": 1, "quarantine": 1, "skip": 1, "bytes": 300, "remote": 1,
    "targets": ["orders", "orders.quarantine"], "quarantine_topic": "orders.quarantine",
    "extractor": "spring-dlt", "order": ORDER,
    "duplicates": DUPLICATES,
}  # fmt: skip


def record(offset=0, action="send", tier="local", **fields):
    return {
        "topic": "orders.DLT", "partition": 0, "offset": offset, "at_ms": 1_790_000_000_000,
        "action": action, "reason": "" if action == "send" else "Replayed 3 times.",
        "target_topic": "orders", "from_topic": "orders.DLT", "from_partition": 0,
        "from_offset": offset, "from_topic_id": "b0J4c2hZUm1hbnk", "tier": tier, "replays": 0,
        "step": "reserve", "error": "IllegalStateException", "bytes": 100,
    } | fields  # fmt: skip


ROWS = [record(4), record(5, "quarantine", "remote"), record(6, "skip", "gone")]


def make_plan(cluster, rows=ROWS, facts=FACTS, **fields):
    """Make the run of a plan that is an hour old, with its table in the archive."""
    arguments = {"cluster": cluster.alias, "topics": "orders.DLT"}
    number = uuid.uuid4()
    values = {
        "id": number, "kind": "replay-plan", "title": f"Replay plan: {cluster.alias}",
        "subject": f"cluster:{cluster.pk}", "question_key": str(number), "arguments": arguments,
        "state": "SUCCEEDED", "finished_at": timezone.now() - timedelta(hours=1),
        "folder": f"/runs/{number}",
    }  # fmt: skip
    run = make_run(**values | fields)
    put(tables_of(run), "records", rows)
    document = document_of(ANALYSIS, {}, Answer(facts), tables_of(run), 1.0)
    run.summary = own_document(run, document)
    run.save()
    return run


def make_redrive(cluster, **fields):
    """Make a redrive whose plan has no file, of a plan run without one."""
    now = timezone.now()
    run = make_run(
        kind="replay-plan", subject=f"cluster:{cluster.pk}", question_key=str(uuid.uuid4()),
        state="SUCCEEDED", arguments={"cluster": cluster.alias}, finished_at=now,
        summary={"facts": FACTS, "tables": [], "notes": [], "seconds": 1.0},
    )  # fmt: skip
    columns = [
        {"name": one.name, "title": one.title, "type": one.type.value} for one in RECORDS.columns
    ]
    shown = [row | {"at_ms": "2026-11-21T03:12:00Z"} for row in ROWS]
    records = {"name": "records", "title": "Records", "rows": 3, "columns": columns}
    tiers = {"local": 1, "remote": 1}
    plan = {"facts": FACTS, "records": records | {"preview": shown}, "tiers": tiers}
    values = {
        "name": "orders.DLT 2026-11-21", "plan_run": run, "plan": plan | {"needs_admin": False},
        "checksum": "0" * 64, "created_at": now,
    }  # fmt: skip
    return Redrive.objects.create(cluster=cluster, **values | fields)
