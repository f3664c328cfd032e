"""`redrive`: a replay plan applied: its records sent again, in transactions, at most at a given rate."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import ClusterFault, InvalidFields
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
from jobs.tracing.replay.parts import in_order, left_of, parts_of
from jobs.tracing.replay.planning import Action

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.cluster.descriptions import TopicPartition
    from jobs.spark.analyses.task import AnalysisTask

# One transaction has at most these.
_MOST_RECORDS, _MOST_BYTES = 500, 8 << 20
_LOOK_S = 0.2
_PLAN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Send what of the plan is left, one part after the other; a stop ends it between two parts."""
    from functools import partial

    from jobs.cluster.read_only import refuse_when_read_only
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.running import connections_of
    from jobs.spark.analyses.tracing.replaying.resending import read_plan, send_part

    connection = connections_of(task, "cluster")["cluster"]
    refuse_when_read_only(connection.alias, "Sending records again")
    rows = in_order(read_plan(task.resources["plan"]["path"]))
    wanted = [row for row in rows if row["action"] in {Action.SEND, Action.QUARANTINE}]
    options = {
        "plan_id": arguments["plan_id"],
        "group": f"crosslog-redrive-{arguments['plan_id']}",
        "plan": _digest(rows),
    }
    left = left_of(wanted, _committed(connection, options))
    began, rate, before = time.monotonic(), arguments["records_per_s"], len(wanted) - len(left)
    sent, gone = list[dict[str, Any]](), list[dict[str, Any]]()
    done = 0
    for part in parts_of(left, min(_MOST_RECORDS, rate), _MOST_BYTES):
        _wait_until(task, began + done / rate, before + done, len(wanted))
        job = task.spark.sparkContext.parallelize([part], 1)
        found = job.map(partial(send_part, connection, options)).collect()[0]
        if "fault" in found:
            _raise(found["fault"])
        sent += found["sent"]
        gone += found["gone"]
        done += len(part)
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
    return Answer(facts, _notes(facts))


def _by_topic(sent: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    counts, sizes = Counter[str](), Counter[str]()
    for row in sent:
        counts[row["target_topic"]] += 1
        sizes[row["target_topic"]] += row["sent_bytes"]
    return [
        {"target_topic": topic, "records": count, "bytes": sizes[topic]}
        for topic, count in counts.most_common()
    ]


def _wait_until(task: AnalysisTask, due: float, done: int, total: int) -> None:
    """Wait for the rate; raises Stopped."""
    while True:
        task.report("Sending records", done=done, total=total, unit="records")
        pause = due - time.monotonic()
        if pause <= 0:
            return
        time.sleep(min(pause, _LOOK_S))


def _committed(connection: Connection, options: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Return the positions of earlier runs; raises InvalidFields where another plan has the same ID."""
    from jobs.cluster.admin.groups import read_committed_or_why
    from jobs.cluster.client import ClusterClient

    group = options["group"]
    with ClusterClient(connection, timeout_s=30) as client:
        found = read_committed_or_why(client, [group])
    if group in found.errors:
        raise ClusterFault(found.errors[group], cluster=connection.alias)
    committed = {
        w: one for w, one in found.committed.get(group, {}).items() if one.offset is not None
    }
    if any(one.metadata != options["plan"] for one in committed.values()):
        raise InvalidFields({"plan_id": "Another plan was applied with this ID."})
    return {where: one.offset for where, one in committed.items() if one.offset is not None}


def _digest(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of what a plan does."""
    text = json.dumps(rows, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]


def _raise(told: tuple[str, str, str, str]) -> None:
    code, message, cluster, hint = told
    more = (
        "Nothing of its transaction was committed. The same plan ID continues after the last one."
    )
    fault = ClusterFault(f"{message} {more}", cluster=cluster, hint=hint)
    fault.code = code
    raise fault


def _notes(facts: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if facts["gone"]:
        notes.append(f"{facts['gone']:,} records were removed after the plan was made: not sent.")
    if facts["already_done"]:
        notes.append(f"{facts['already_done']:,} records were done by earlier runs of this plan.")
    return tuple(notes)


def _checked(arguments: Mapping[str, Any]) -> None:
    if not _PLAN_ID.fullmatch(arguments["plan_id"]):
        raise InvalidFields({"plan_id": "At most 100 letters, digits, dots, - and _."})


_INTEGER, _TEXT = ColumnType.INTEGER, ColumnType.TEXT
ANALYSIS = Analysis(
    kind="redrive",
    title="Redrive",
    question="What of a replay plan was sent?",
    arguments=(
        CLUSTER,
        Argument("plan", ArgumentType.FILE, "Plan", "Parquet, of replay-plan.", is_required=True),
        Argument(
            "plan_id",
            ArgumentType.TEXT,
            "Plan ID",
            "The same ID again continues after the last committed transaction.",
            is_required=True,
        ),
        Argument(
            "records_per_s",
            ArgumentType.INTEGER,
            "Max records/s",
            default=100,
            least=1,
            most=100_000,
        ),
    ),
    tables=(
        Table(
            "topics",
            "Records sent",
            (
                Column("target_topic", "Target topic", _TEXT),
                Column("records", "Records", _INTEGER),
                Column("bytes", "Size", ColumnType.BYTES, "Of keys and values."),
            ),
        ),
        Table("problems", "Records not sent", (*PLACE, Column("reason", "Reason", _TEXT))),
    ),
    run=run,
    definition="At most 500 records and 8 MiB are one transaction, which also commits their positions: a run "
    "that was stopped or killed continues exactly there. What was removed since the plan was made is listed.",
    checked=_checked,
    is_action=True,
)
