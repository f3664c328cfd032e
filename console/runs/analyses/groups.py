"""Groups of analyses by the data that they read, with a sentence and the terms of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.spark.analyses.analysis import Analysis, ArgumentType


@dataclass(frozen=True, slots=True)
class Group:
    """A group; `terms` are words that its analyses use, each with a definition."""

    id: str
    title: str
    note: str
    terms: Mapping[str, str] = field(default_factory=dict)


_SYNC = {
    "Offset sync": "A pair of source and target offset of a partition. crosslog and MirrorMaker 2 write "
    "one to a topic from time to time, and consumer group offsets are translated by it.",
}
_CERTIFICATE = {
    "Certificate": "The lowest and the highest target offset that offset syncs prove for a source offset. "
    "Both are equal where the translation is exact.",
}
_BACKTEST = {
    "Backtest": "A check of past translations: each is compared with the target offset at which the record "
    "really was.",
}
METADATA = Group("metadata-log", "Metadata log", "reads the archived metadata log of a cluster")
OFFSETS = Group("offsets", "Offsets", "reads archived offset syncs", _SYNC | _CERTIFICATE)
RECORDS = Group(
    "records",
    "Records",
    "compares the records of source and target; reads both clusters",
    _CERTIFICATE | _BACKTEST,
)
_OF_RECORDS = frozenset({"refine", "backtest"})
_SENTENCES = {
    "before-a-moment": "All metadata changes in the minutes before a moment, by cause and by minute.",
    "quorum-history": "Voter sets, leaders and elections over time, and the voters at one moment.",
    "time-without-controller": "Periods without an active controller, and their share of the time.",
    "partition-availability": "Time that partitions had no leader or were under min ISR, by topic and month.",
    "isr-churn": "ISR shrinks and expands by broker, rack, topic or cause, hour by hour.",
    "slowest-shrinks": "The longest times that replicas were out of the ISR, and what they have in common.",
    "unclean-elections": "Unclean leader elections: partition, time, new leader, brokers of the ISR before.",
    "config-changes": "Config changes, and the ISR shrinks and leader changes that followed.",
    "metadata-history": "Every change of the metadata log with offset, time and cause.",
    "metadata-records": "Number of records in the metadata log by type.",
    "translate": "The target offset of each source offset, or the way back, from offset syncs.",
    "refine": "Exact target offsets where offset syncs leave a range, from the records themselves.",
    "backtest": "Records that past failovers would have skipped or repeated, per flow, topic and day.",
    "backfill": "The complete topic of offset syncs of a flow, copied into its archive.",
}


def group_of(analysis: Analysis) -> Group:
    """Return the group of an analysis."""
    if any(one.type is ArgumentType.LOG for one in analysis.arguments):
        return METADATA
    return RECORDS if analysis.kind in _OF_RECORDS else OFFSETS


def grouped(analyses: Iterable[Analysis]) -> list[tuple[Group, list[tuple[Analysis, str]]]]:
    """Return the groups that have analyses, each analysis with the sentence of what it answers."""
    found: dict[str, list[tuple[Analysis, str]]] = {}
    for one in analyses:
        sentence = _SENTENCES.get(one.kind, one.question)
        found.setdefault(group_of(one).id, []).append((one, sentence))
    return [(group, found[group.id]) for group in (METADATA, OFFSETS, RECORDS) if group.id in found]
