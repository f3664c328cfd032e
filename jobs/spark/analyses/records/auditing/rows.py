"""The answer of an audit: verdicts of partitions, findings, and what is proven from now on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jobs.spark.analyses.records.auditing.judging import MOST_FINDINGS, Finding
from jobs.spark.analyses.records.auditing.kinds import DIFFERENCES, DOUBTS, NAMES
from jobs.spark.analyses.records.auditing.proofs import Proof
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced

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
    work, told = reduced.work, json.loads(reduced.tables["pair"]["json"][0].as_py())
    extra = work.extra
    old = Proof(**extra["proof"]) if extra.get("proof") else Proof(("", ""), (0, 0), level, 0)
    found = Counter(told.get("counts", {}))
    unread = told.get("reason", "") or _unread(reduced, level, found, may_replay=may_replay)
    if unread:
        told |= {"compared": 0, "findings": []}
        found.clear()
    compared, counts = old.compared + told["compared"], Counter(old.counts) + found
    doubt = unread or told["stopped"] or _doubt(work, counts, compared)
    remark = "" if compared else "No records."
    if counts["unread"]:
        remark = f"{counts['unread']:,} records have their copies among those that were not read."
    where = {"topic": extra["topic"], "partition": extra["partition"]}
    row = where | {
        "verdict": verdict_of(counts, doubt, may_replay=may_replay),
        "reason": doubt or remark,
        "level": level,
        **_range(work),
        "compared": compared,
        **{name: counts[name] for name in NAMES},
    }
    listed = [Finding(*one) for one in (*old.findings, *told["findings"])][:MOST_FINDINGS]
    answer = PairAnswer(row, [where | _values(one) for one in listed], counts, old.compared)
    if not doubt and told["next"] and told["can_resume"]:
        source, target = work.spans[:2]
        answer.proof = Proof(
            (source.topic_id, target.topic_id),
            tuple(told["next"]),
            min(level, old.level),
            compared,
            {
                n: k
                for n, k in (Counter(old.counts) + Counter(told["proven_counts"])).items()
                if n in NAMES
            },
            [*old.findings, *told["proven_findings"]][:MOST_FINDINGS],
        )
    return answer


def verdict_of(counts: Counter[str], reason: str, *, may_replay: bool) -> str:
    """Return the verdict; `reason`: why it cannot be judged. A difference that was found remains one."""
    if any(counts[one] for one in DIFFERENCES) or (counts["duplicated"] and not may_replay):
        return "differs"
    return "unknown" if reason else "equal"


def _unread(reduced: Reduced, level: str, found: Counter[str], *, may_replay: bool) -> str:
    """Return why what was found does not count, "" where it does."""
    lost = sum(one.removed for one in reduced.outcomes[:2])
    is_different = any(found[one] for one in DIFFERENCES)
    if level == "L0" and (is_different or found["duplicated"] or found["superseded"]):
        return "repacked: use L1"
    if level == "L1" and may_replay and is_different:
        return "Hours differ, and the flow is at-least-once: L2 knows replays."
    if lost and is_different:
        return f"{lost:,} offsets were removed while they were read: repeat the audit."
    return ""


def _doubt(work: Work, counts: Counter[str], compared: int) -> str:
    for name, why in DOUBTS.items():
        if counts[name]:
            return f"{counts[name]:,} records {why}"
    source, target = work.spans[:2]
    if compared or not (source.offsets or target.offsets):
        return ""
    if not target.log_end:
        return "Nothing was copied: the target is empty."
    return "No record was compared: none is on both sides among those that were read."


def _range(work: Work) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, side in enumerate(("source", "target")):
        span = work.spans[place] if work.spans else None
        start = 0 if work.extra.get("proof") else span and span.start
        found |= {f"{side}_from": start if span else None, f"{side}_to": span.end if span else None}
    return found


def _values(finding: Finding) -> dict[str, Any]:
    return {name: None if value == -1 else value for name, value in finding._asdict().items()}


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
        self.rows.sort(key=lambda row: ("differs", "unknown", "equal").index(row["verdict"]))
        return {
            "verdict": "differs" if verdicts["differs"] else verdict,
            "level": self.level,
            "as_of": datetime.fromtimestamp(self.as_of_ms / 1000, UTC).isoformat(),
            "topics": len({row["topic"] for row in self.rows}),
            "topics_of_flow": self.of_flow,
            "partitions": len(self.rows),
            "partitions_unknown": verdicts["unknown"],
            "records_compared": compared,
            **{name: self.counts[name] for name in NAMES},
            "proven_before": self.proven_before,
        }

    def notes(self) -> Iterable[str]:
        """Yield sentences about what is not known."""
        counts = self.counts
        if counts["duplicated"] and self.may_replay:
            yield "Records are more than once on the target: the flow is at-least-once, they are replays."
        if counts["deleted_on_target"] or counts["deleted_on_source"]:
            yield "Whether retention or DeleteRecords removed records before the log start is not known."
        if counts["superseded"]:
            yield (
                f"{counts['superseded']:,} records are on one side only and compaction may have removed "
                "them on the other: a later record has their key, or they are tombstones."
            )
        if counts["aborted"]:
            yield (
                f"{counts['aborted']:,} records of aborted transactions are not on the target: MirrorMaker 2 "
                "copies with read_committed. They are no difference."
            )
        unknown = [row for row in self.rows if row["reason"]]
        for row in unknown[:_MOST_NOTES]:
            yield f"{row['topic']}-{row['partition']}: {row['reason']}"
        if len(unknown) > _MOST_NOTES:
            yield f"And {len(unknown) - _MOST_NOTES:,} more partitions with a remark: see the table."
