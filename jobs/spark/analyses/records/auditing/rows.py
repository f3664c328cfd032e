"""The answer of an audit: verdicts of partitions, findings, and what is proven from now on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jobs.spark.analyses.records.auditing.judging import MOST_FINDINGS, Finding
from jobs.spark.analyses.records.auditing.proofs import Proof
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced

COUNTS = (
    "missing", "extra", "duplicated", "reordered", "altered", "deleted_on_source", "deleted_on_target",
    "not_copied_yet", "superseded",
)  # fmt: skip
DIFFERENCES = ("missing", "extra", "reordered", "altered")
_BEHIND = ("not_copied_yet", "unread")
_MOST_NOTES = 10


@dataclass(slots=True)
class PairAnswer:
    """What came of a pair; `proof`: what the next audit may build on (None: it changes nothing)."""

    row: dict[str, Any]
    findings: list[dict[str, Any]]
    counts: Counter[str]
    proven_before: int
    proof: Proof | None = None


def answer_of(reduced: Reduced, level: str, *, may_replay: bool) -> PairAnswer:
    """Return the row and the findings of a pair."""
    work = reduced.work
    extra, told = work.extra, json.loads(reduced.tables["pair"]["json"][0].as_py())
    proof = Proof(**extra["proof"]) if extra.get("proof") else None
    counts = Counter(proof.counts if proof else {})
    reason = told.get("reason", "")
    lost = sum(one.removed for one in reduced.outcomes[:2])
    found = Counter() if reason else Counter(told["counts"])
    if level == "L0" and any(found[one] for one in (*DIFFERENCES, "duplicated", "superseded")):
        reason = "repacked: use L1"
    elif lost and any(found[one] for one in DIFFERENCES):
        reason = f"{lost:,} offsets were removed while they were read: repeat the audit."
    compared = (proof.compared if proof else 0) + (0 if reason else told["compared"])
    listed = [Finding(*one) for one in proof.findings] if proof else []
    if not reason:
        counts += found
        listed += [Finding(*one) for one in told["findings"]]
        reason = _doubt(work, told, counts, compared)
    else:
        found.clear()
    row = {
        "topic": extra["topic"],
        "partition": extra["partition"],
        "verdict": verdict_of(counts, reason, may_replay=may_replay),
        "reason": reason or _remark(counts, compared),
        "level": level,
        **_range(work, proof),
        "compared": compared,
        **{name: counts[name] for name in COUNTS},
    }
    where = {"topic": extra["topic"], "partition": extra["partition"]}
    answer = PairAnswer(
        row,
        [where | _values(one) for one in listed[:MOST_FINDINGS]],
        counts,
        proof.compared if proof else 0,
    )
    can_resume = (
        not told.get("reason") and told["next"] and told["can_resume"] and not found["unsure"]
    )
    if can_resume and not reason:
        proven = Counter(proof.counts if proof else {}) + Counter(told["proven_counts"])
        kept = (proof.findings if proof else []) + told["proven_findings"]
        source, target = work.spans[:2]
        answer.proof = Proof(
            (source.topic_id, target.topic_id),
            tuple(told["next"]),
            min(level, proof.level) if proof else level,
            compared,
            {name: n for name, n in proven.items() if name not in _BEHIND},
            kept[:MOST_FINDINGS],
        )
    return answer


def verdict_of(counts: Counter[str], reason: str, *, may_replay: bool) -> str:
    """Return the verdict; `reason`: why it cannot be judged. A difference that was found remains one."""
    if any(counts[one] for one in DIFFERENCES) or (counts["duplicated"] and not may_replay):
        return "differs"
    return "unknown" if reason else "equal"


def _doubt(work: Work, told: dict[str, Any], counts: Counter[str], compared: int) -> str:
    if told["stopped"]:
        return str(told["stopped"])
    if counts["unsure"]:
        return (
            f"{counts['unsure']:,} tombstones are on one side only, and older records of their keys were "
            "not read: read what was proven again."
        )
    source, target = work.spans[:2]
    if not compared and (source.offsets or target.offsets):
        return "No record was compared: none is on both sides among those that were read."
    return ""


def _remark(counts: Counter[str], compared: int) -> str:
    if counts["before_first"]:
        return f"{counts['before_first']:,} records before the first copy were not copied."
    if counts["unread"]:
        return f"{counts['unread']:,} records have their copies among those that were not read."
    return "" if compared else "No records."


def _range(work: Work, proof: Proof | None) -> dict[str, Any]:
    if not work.spans:
        return dict.fromkeys(("source_from", "source_to", "target_from", "target_to"))
    source, target = work.spans[:2]
    starts = (0, 0) if proof else (source.start, target.start)
    return {
        "source_from": starts[0],
        "source_to": source.end,
        "target_from": starts[1],
        "target_to": target.end,
    }


def _values(finding: Finding) -> dict[str, Any]:
    return {
        name: None if value == -1 and name != "records" else value
        for name, value in finding._asdict().items()
    }


@dataclass(slots=True)
class Totals:
    """The facts of all pairs."""

    level: str
    may_replay: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    proven_before: int = 0
    as_of_ms: int = 0
    of_flow: int = 0

    def add(self, answer: PairAnswer, work: Work) -> None:
        """Add a pair."""
        self.rows.append(answer.row)
        self.findings += answer.findings
        self.counts += answer.counts
        self.proven_before += answer.proven_before
        self.as_of_ms, self.of_flow = work.extra["as_of_ms"], work.extra["of_flow"]

    def facts(self) -> dict[str, Any]:
        """Return the facts of the answer."""
        verdicts = Counter(row["verdict"] for row in self.rows)
        compared = sum(row["compared"] for row in self.rows)
        verdict = "equal" if compared and not verdicts["unknown"] else "unknown"
        return {
            "verdict": "differs" if verdicts["differs"] else verdict,
            "level": self.level,
            "as_of": datetime.fromtimestamp(self.as_of_ms / 1000, UTC).isoformat(),
            "topics": len({row["topic"] for row in self.rows}),
            "topics_of_flow": self.of_flow,
            "partitions": len(self.rows),
            "partitions_unknown": verdicts["unknown"],
            "records_compared": compared,
            **{name: self.counts[name] for name in COUNTS},
            "proven_before": self.proven_before,
        }

    def notes(self) -> Iterable[str]:
        """Yield sentences about what is not known."""
        if self.counts["duplicated"] and self.may_replay:
            yield "Records are more than once on the target: the flow is at-least-once, they are replays."
        if self.counts["deleted_on_target"] or self.counts["deleted_on_source"]:
            yield "Whether retention or DeleteRecords removed records before the log start is not known."
        if self.counts["superseded"]:
            yield (
                f"{self.counts['superseded']:,} records are on one side only and compaction may have removed "
                "them on the other: a later record has their key, or they are tombstones."
            )
        unknown = [row for row in self.rows if row["reason"]]
        for row in unknown[:_MOST_NOTES]:
            yield f"{row['topic']}-{row['partition']}: {row['reason']}"
        if len(unknown) > _MOST_NOTES:
            yield f"And {len(unknown) - _MOST_NOTES:,} more partitions with a remark: see the table."


def in_order(answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of partitions, those first that differ."""
    order = {"differs": 0, "unknown": 1, "equal": 2}
    return sorted(answers, key=lambda row: order[row["verdict"]])
