"""`redrive`: a replay plan applied: its records sent again, in transactions, at most at a given rate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import CLUSTER
from jobs.spark.analyses.tracing.dead_letters import PLACE
from jobs.tracing.digests import DIGEST_DIGITS
from jobs.tracing.replay.parts import Row, in_order, parts_of
from jobs.tracing.replay.planning import Action

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

# One transaction has at most these.
_MOST_RECORDS, _MOST_BYTES = 500, 8 << 20
_LOOK_S = 0.2


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Send what of the plan is left, one part after the other; a stop ends it between two parts."""
    from jobs.cluster.client import ClusterClient
    from jobs.cluster.read_only import refuse_when_read_only
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.running import connections_of
    from jobs.spark.analyses.tracing.replaying.resending import ANSWER_S, read_plan, resending

    connection, path = connections_of(task, "cluster")["cluster"], task.resources["plan"]["path"]
    refuse_when_read_only(connection.alias, "Sending records again")
    rows = in_order(read_plan(path))
    digest = sha256(Path(path).read_bytes()).hexdigest()[:DIGEST_DIGITS]
    wanted = [row for row in rows if row["action"] in {Action.SEND, Action.QUARANTINE}]
    rate, sent, gone, done = arguments["records_per_s"], list[Row](), list[Row](), 0
    with (
        ClusterClient(connection, timeout_s=ANSWER_S) as client,
        resending(client, arguments["plan_id"], digest) as sender,
    ):
        left = sender.left_of(wanted)
        began, before = time.monotonic(), len(wanted) - len(left)
        for part in parts_of(left, min(_MOST_RECORDS, rate), _MOST_BYTES):
            task.report("Sending records", done=before + done, total=len(wanted), unit="records")
            while (pause := began + done / rate - time.monotonic()) > 0:
                time.sleep(min(pause, _LOOK_S))
                task.check_stop()
            now_sent, now_gone = sender.send(part)
            sent, gone, done = sent + now_sent, gone + now_gone, done + len(part)
    task.report("Sending records", done=len(wanted), total=len(wanted), unit="records")
    task.write("topics", arrow_table(ANALYSIS.table("topics"), _by_topic(sent)))
    task.write("problems", arrow_table(ANALYSIS.table("problems"), gone))
    actions = Counter(row["action"] for row in sent)
    facts = {
        "sent": actions[Action.SEND],
        "quarantined": actions[Action.QUARANTINE],
        "skipped": len(rows) - len(wanted),
        "gone": len(gone),
        "already_done": before,
        "bytes": sum(row["sent_bytes"] for row in sent),
        "seconds": round(time.monotonic() - began, 1),
    }
    return Answer(facts, tuple(_notes(facts)))


def _by_topic(sent: Sequence[Row]) -> list[dict[str, Any]]:
    counts, sizes = Counter[str](), Counter[str]()
    for row in sent:
        counts[row["target_topic"]] += 1
        sizes[row["target_topic"]] += row["sent_bytes"]
    return [
        {"target_topic": topic, "records": count, "bytes": sizes[topic]}
        for topic, count in counts.most_common()
    ]


def _notes(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["gone"]:
        yield f"{facts['gone']:,} records are no longer there, or cannot be read: not sent."
    if facts["already_done"]:
        yield f"{facts['already_done']:,} records were done by earlier runs of this plan."


_TOPICS = (
    Column("target_topic", "Target topic", ColumnType.TEXT),
    Column("records", "Records", ColumnType.INTEGER),
    Column("bytes", "Size", ColumnType.BYTES, "Of keys and values."),
)
_PROBLEMS = (*PLACE, Column("reason", "Reason", ColumnType.TEXT))
ANALYSIS = Analysis(
    kind="redrive",
    title="Redrive",
    arguments=(
        CLUSTER,
        Argument("plan", ArgumentType.FILE, "Plan", "Parquet, of replay-plan.", is_required=True),
        Argument(
            "plan_id", ArgumentType.TEXT, "Plan ID",
            "The same ID again continues after the last committed transaction.", is_required=True,
        ),
        Argument(
            "records_per_s", ArgumentType.INTEGER, "Max records/s",
            default=100, least=1, most=100_000,
        ),
    ),
    tables=(Table("topics", "Records sent", _TOPICS), Table("problems", "Records not sent", _PROBLEMS)),
    run=run,
    definition="At most 500 records and 8 MiB are one transaction, which also commits their positions: a run "
    "that was stopped or killed continues exactly there. What was removed since the plan was made is listed.",
    is_action=True,
)  # fmt: skip
