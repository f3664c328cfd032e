"""Runs of copy audits, as they are stored."""

from datetime import timedelta

from console.replication.translation.translator import subject_of
from console.runs.models import RunState
from tests.console.making import NOW, make_run

FACTS = {
    "verdict": "equal",
    "level": "L2",
    "topics": 40,
    "topics_of_flow": 40,
    "partitions": 120,
    "partitions_unknown": 0,
    "records_compared": 5000,
    "missing": 0,
    "extra": 0,
    "duplicated": 0,
    "reordered": 0,
    "altered": 0,
}
DIFFERS = {"verdict": "differs", "missing": 4, "altered": 1}
FINDINGS = [
    {"topic": "orders", "partition": 0, "what": "deleted_on_source", "source_offset": 0},
    {
        "topic": "orders",
        "partition": 0,
        "what": "missing",
        "source_offset": 100,
        "target_offset": None,
        "records": 4,
    },
    {
        "topic": "orders",
        "partition": 1,
        "what": "altered",
        "source_offset": 7,
        "target_offset": 9,
        "records": 1,
    },
]


def make_audit(flow, *, age=timedelta(hours=1), now=NOW, topics="", findings=(), **facts):
    """An audit of a flow that succeeded."""
    facts = FACTS | {"as_of": (now - age).isoformat()} | facts
    tables = [{"name": "findings", "preview": list(findings), "rows": len(findings)}]
    return make_audit_run(
        flow,
        created_at=now - age,
        finished_at=now - age + timedelta(minutes=1),
        arguments={"flow": flow.name, "topics": topics, "level": facts["level"]},
        summary={"facts": facts, "tables": tables},
    )


def make_audit_run(flow, **fields):
    """A run of the kind, in any state."""
    values = {"kind": "copy-audit", "subject": subject_of(flow), "state": RunState.SUCCEEDED}
    return make_run(**values | {"question_key": str(len(fields))} | fields)
