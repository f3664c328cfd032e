"""Offset translation: many offsets at once, in both directions, with evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from console.replication.checkpoints.rounds.facts import Names
from console.replication.flows.models import FlowPartition, ReplicationFlow
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.csv_text import csv_lines
from jobs.replication.offset_sync_store import TOO_OLD
from jobs.replication.translation.partition_syncs import DOWNSTREAM
from jobs.replication.translation.questions import NO_LIMITS, Limits, Question
from jobs.replication.translation.sync_history import Certificate, repeats_nothing
from jobs.replication.translation.translator import Translator

FORWARD, REVERSE = "forward", "reverse"
DIRECTIONS = (FORWARD, REVERSE)
NO_SYNC = "This partition has no offset sync, so its offsets cannot be translated."
NO_PARTITION = "The flow does not replicate this partition."
COLUMNS = (
    "line",
    "group",
    "topic",
    "partition",
    "offset",
    "to_topic",
    "lo",
    "hi",
    "exact",
    "reason",
    "evidence",
    "mm2",
)


@dataclass(frozen=True, slots=True)
class Translation:
    """A question with its answer; `lo` None: unknown. `mm2` is MirrorMaker 2's translation.

    `reason` is the error where `wrong` names a part of the question. `repeats_nothing`: a group that resumes
    at `lo` reprocesses no record, although the offset may not be exact.
    """

    question: Question
    to_topic: str
    certificate: Certificate | None
    mm2: int | None
    reason: str
    # The part of the question that is wrong: topic, partition or offset; empty: none is.
    wrong: str = ""
    repeats_nothing: bool = False

    @property
    def lo(self) -> int | None:
        """A group that resumes at this offset skips no record."""
        return self.certificate.lo if self.certificate else None

    @property
    def hi(self) -> int | None:
        """The upper bound of the translated offset; None: no upper bound."""
        return self.certificate.hi if self.certificate else None

    @property
    def exact(self) -> bool:
        """Whether there is only one possible answer."""
        return self.certificate is not None and self.certificate.exact

    @property
    def evidence(self) -> list[list[int]]:
        """The offset syncs that prove it, as [upstream, downstream]."""
        return [list(sync) for sync in self.certificate.evidence] if self.certificate else []

    @property
    def evidence_text(self) -> str:
        """The same as text."""
        return "; ".join(f"{up:,} \N{RIGHTWARDS ARROW} {down:,}" for up, down in self.evidence)

    @property
    def mm2_is_too_old(self) -> bool:
        """Whether MirrorMaker 2 says that the offset is older than all it keeps."""
        return self.mm2 == TOO_OLD

    def to_mapping(self) -> dict[str, Any]:
        """Return it as the API answers."""
        asked = self.question
        return {
            "line": asked.line,
            "group": asked.group,
            "topic": asked.where.topic,
            "partition": asked.where.partition,
            "offset": asked.offset,
            "to_topic": self.to_topic,
            "lo": self.lo,
            "hi": self.hi,
            "exact": self.exact,
            "reason": self.reason,
            "evidence": self.evidence,
            "mm2": self.mm2,
        }


def translate_all(
    flow: ReplicationFlow,
    translator: Translator,
    questions: Iterable[Question],
    direction: str = FORWARD,
    limits: Limits = NO_LIMITS,
) -> list[Translation]:
    """Return the answers, in the order of the questions.

    Forward, topics have their names on the source; for the way back those on the target. `limits` are
    those of the cluster that the offsets belong to. Raises `InvalidFields` for invalid settings of the flow.
    """
    names = Names(flow.spec())
    if direction == FORWARD:
        return [_wrong(limits, one) or _forward(names, translator, one) for one in questions]
    measured = FlowPartition.objects.filter(flow=flow).values_list("topic", "partition")
    known = {TopicPartition(*where) for where in measured} | translator.partitions
    source_of = {names.remote(where): where for where in known}
    return [_wrong(limits, one) or _reverse(source_of, translator, one) for one in questions]


def translate_one(
    flow: ReplicationFlow,
    translator: Translator,
    question: Question,
    direction: str = FORWARD,
    limits: Limits = NO_LIMITS,
) -> Translation:
    """Return the answer to one question; raises `InvalidFields` naming the part of it that is wrong."""
    (found,) = translate_all(flow, translator, [question], direction, limits)
    if found.wrong:
        raise InvalidFields({found.wrong: found.reason})
    return found


def to_csv(translations: Sequence[Translation]) -> str:
    """Return the answers as CSV that no spreadsheet takes for formulas."""
    rows = (one.to_mapping() | {"evidence": _in_csv(one.evidence)} for one in translations)
    return "".join(csv_lines([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]))


def _in_csv(evidence: list[list[int]]) -> str:
    return "; ".join(f"{up} > {down}" for up, down in evidence)


def _wrong(limits: Limits, asked: Question) -> Translation | None:
    found = limits.fault(asked.where, asked.offset)
    return None if found is None else Translation(asked, "", None, None, found[1], found[0])


def _forward(names: Names, translator: Translator, asked: Question) -> Translation:
    if not names.has_topic(asked.where.topic):
        text = "The patterns of the flow exclude this topic."
        return Translation(asked, "", None, None, text, "topic")
    found = translator.translate(asked.where, asked.offset)
    mm2 = translator.mm2(asked.where, asked.offset)
    to_topic = names.remote(asked.where).topic
    reason = found.reason if found else NO_SYNC
    is_all = found is not None and repeats_nothing(found, asked.offset)
    return Translation(asked, to_topic, found, mm2, reason, repeats_nothing=is_all)


def _reverse(
    source_of: dict[TopicPartition, TopicPartition],
    translator: Translator,
    asked: Question,
) -> Translation:
    where = source_of.get(asked.where)
    if where is None:
        return Translation(asked, "", None, None, NO_PARTITION, "partition")
    found = translator.reverse(where, asked.offset)
    reason = found.reason if found else NO_SYNC
    is_all = found is not None and repeats_nothing(found, asked.offset, DOWNSTREAM)
    return Translation(asked, where.topic, found, None, reason, repeats_nothing=is_all)
