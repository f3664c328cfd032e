"""The registry of analyses: a kind is a module with its `ANALYSIS`, listed here, imported when it is used."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jobs.spark.analyses.analysis import Analysis


# By folder: the question of each kind; here and not in its module, for `crosslog --help`.
_ROOMS: Mapping[str, Mapping[str, str]] = {
    "metadata": {
        "before-a-moment": "What happened in the minutes before a moment?",
        "quorum-history": "Who voted, who led, and who were the voters at one moment?",
        "time-without-controller": "When, and for how much of the time, was no controller active?",
        "partition-availability": "How long were partitions leaderless or under min ISR, by topic and month?",
        "isr-churn": "How often did brokers leave and join ISRs: by broker, rack, topic or cause, hour "
        "by hour?",
        "slowest-shrinks": "Which brokers stayed out of an ISR for longest, and what did these cases "
        "have in common?",
        "unclean-elections": "Which partitions had an unclean leader election, when, and which brokers "
        "were not elected?",
        "config-changes": "Which settings changed, and did ISR shrinks or leader changes follow?",
        "metadata-history": "What changed in this metadata log, when, and why?",
        "metadata-records": "How many records of which type does this metadata log hold?",
    },
    "offsets": {
        "translate": "Which target offset is equivalent to a source offset, now or as known at a time?",
        "refine": "Which target offsets are exact, by comparing the records of both sides?",
        "backtest": "If groups had failed over in the last days, which records would they have skipped "
        "or reprocessed?",
        "backfill": "Is the whole history of this flow's offset syncs in its archive?",
    },
    "records": {
        "topic-profile": "How many records do topics get, of which shape, and when did that change?",
        "key-skew": "Which keys are hot, which partitioner placed them, and would another partition "
        "count help?",
        "copy-audit": "Does the target have the records of the source, each once and in order?",
        "store-at": "Which value did a key have, or how large was a store, at a time or an offset of "
        "its changelog?",
    },
    "groups": {
        "rebalances": "When did consumer groups rebalance, who joined and left, and what moved?",
    },
    "tracing": {
        "slips": "Where are pieces of work that move through topics, and which are stuck?",
        "outbox": "How long do events take from commit to topic, and are all of them there, once?",
        "claim-checks": "Do the objects that records point to exist, and which records should be claim "
        "checks?",
        "dead-letters": "Which records could services not process, at which step, and why?",
        "replay-plan": "Which dead letters can be sent again, and what would that do?",
        "redrive": "What of a replay plan was sent?",
        "tiered-reach": "What of topics is local and remote, what lags, how far can a replay go, and "
        "who reads cold?",
    },
}  # fmt: skip
# Kinds whose module or command has another name.
_MODULES = {"metadata-records": "record_types"}
_COMMANDS = {"translate": "translate-offsets"}


class Listed(NamedTuple):
    """What is known of a kind before its module is imported."""

    module: str
    question: str
    command: str


LISTED: Mapping[str, Listed] = {
    kind: Listed(
        f"{__package__}.{room}.{_MODULES.get(kind) or kind.replace('-', '_')}",
        question,
        _COMMANDS.get(kind, kind),
    )
    for room, kinds in _ROOMS.items()
    for kind, question in kinds.items()
}


class _Analyses(UserDict[str, Any]):
    """All kinds, in the order of `LISTED`; reading one imports its module."""

    def __getitem__(self, kind: str) -> Analysis:
        if self.data[kind] is None:
            from dataclasses import replace

            module, question, command = LISTED[kind]
            found = import_module(module).ANALYSIS
            self.data[kind] = replace(found, question=question, command=command)
        analysis: Analysis = self.data[kind]
        return analysis


ANALYSES: MutableMapping[str, Analysis] = _Analyses(dict.fromkeys(LISTED))


class _Questions(Mapping[str, "Analysis"]):
    """The kinds of `ANALYSES` that only read: forms, the API and schedules start these."""

    def __getitem__(self, kind: str) -> Analysis:
        if ANALYSES[kind].is_action:
            raise KeyError(kind)
        return ANALYSES[kind]

    def __iter__(self) -> Iterator[str]:
        return (kind for kind, one in ANALYSES.items() if not one.is_action)

    def __len__(self) -> int:
        return sum(1 for _ in self)


QUESTIONS = _Questions()
