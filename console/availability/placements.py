"""Which placement a topic has: its own config, else what was assigned here by name, else by pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from console.availability.placement_models import PatternKind, TopicPlacement
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from jobs.availability.placement import InvalidPlacement, Placement, parse_placement

# The topic config of Confluent Server that holds a placement.
CONFIG = "confluent.placement.constraints"
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_NO_NAME = "No topic can be called so. Letters, digits, '.', '_' and '-' are possible."
# A repeat inside a repeat can take for ever on a name that does not fit: (a+)+.
_REPEATED_REPEAT = re.compile(r"(?<!\\)[+*}][?+]?\)+(?:[+*]|\{\d*,)")


class Origin(StrEnum):
    """Where a topic's placement comes from; in this order of precedence."""

    PROPOSED = "proposed"
    TOPIC_CONFIG = "topic_config"
    EXACT = "exact"
    PATTERN = "pattern"
    NONE = "none"

    @property
    def label(self) -> str:
        """The same for people."""
        return _LABELS[self]


_LABELS = {
    Origin.PROPOSED: "Proposed",
    Origin.TOPIC_CONFIG: "Topic config",
    Origin.EXACT: "Assigned here to the topic",
    Origin.PATTERN: "Assigned here by a pattern",
    Origin.NONE: "None",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A topic's placement and where it comes from.

    `rule` is the row that assigns it, None for a topic's own config and for none. `problem` says why a
    topic's config is not a placement: such a topic has none, and nothing else counts for it.
    """

    placement: Placement | None = None
    origin: Origin = Origin.NONE
    rule: TopicPlacement | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A placement in place of the real one: of a topic, or of all topics that a pattern fits.

    Replicas are drawn up as a reassignment would leave them: those that fit stay, the rest moves. `placement`
    None asks what is without one. `min_insync_replicas` None: as it is.
    """

    kind: str
    pattern: str
    placement: Placement | None
    min_insync_replicas: int | None = None


class PlacementRules:
    """The placements of one cluster, ready to be asked for many topics."""

    def __init__(self, rows: Iterable[TopicPlacement], proposed: Sequence[Proposed] = ()) -> None:
        ordered = sorted(rows, key=precedence)
        # What names these rules: equal ones say the same of every topic.
        self.key = (tuple((row.pk, row.changed_at) for row in ordered), tuple(proposed))
        self._exact = {row.pattern: row for row in ordered if row.kind == PatternKind.EXACT}
        self._patterns = [
            (compiled(row.kind, row.pattern), row)
            for row in ordered
            if row.kind != PatternKind.EXACT
        ]
        self._proposed = [(compiled(one.kind, one.pattern), one) for one in proposed]
        self._parsed: dict[Any, Placement] = {}

    def of(self, topic: str, config: str = "") -> Resolved:
        """Return the placement of a topic; `config` is its own, empty when it has none."""
        for pattern, proposed in self._proposed:
            if pattern.fullmatch(topic):
                return Resolved(proposed.placement, Origin.PROPOSED)
        if config:
            return self._own(config)
        row = self._exact.get(topic)
        if row is not None:
            return Resolved(self._parse(row), Origin.EXACT, row)
        for pattern, row in self._patterns:
            if pattern.fullmatch(topic):
                return Resolved(self._parse(row), Origin.PATTERN, row)
        return Resolved()

    def proposed_for(self, topic: str) -> Proposed | None:
        """Return the proposal that a topic falls under."""
        found = (one for pattern, one in self._proposed if pattern.fullmatch(topic))
        return next(found, None)

    def _own(self, config: str) -> Resolved:
        found = _read_config(config)
        if isinstance(found, str):
            return Resolved(None, Origin.TOPIC_CONFIG, None, found)
        return Resolved(found, Origin.TOPIC_CONFIG)

    def _parse(self, row: TopicPlacement) -> Placement:
        key = row.pk or id(row)
        if key not in self._parsed:
            self._parsed[key] = parse_placement(row.document)
        return self._parsed[key]


def precedence(row: TopicPlacement) -> tuple[int, int, int, str]:
    """Return what sorts the rule that counts first: exact, priority, length of the pattern, alphabet."""
    is_pattern = row.kind != PatternKind.EXACT
    return int(is_pattern), -row.priority, -len(row.pattern), row.pattern


def rules_of(cluster: Cluster, proposed: Sequence[Proposed] = ()) -> PlacementRules:
    """Return the placements of a cluster; one query."""
    return PlacementRules(list_placements(cluster), proposed)


def list_placements(cluster: Cluster | None = None) -> QuerySet[TopicPlacement]:
    """Return placements with their cluster, of one cluster when it is named."""
    rows = TopicPlacement.objects.select_related("cluster")
    return rows if cluster is None else rows.filter(cluster=cluster)


def check_pattern(kind: str, pattern: str) -> str:
    """Return what is wrong with the name of a placement; empty when it is well."""
    if not pattern:
        return "Name a topic, or a pattern of topics."
    if len(pattern) > TOPIC_NAME_LENGTH:
        return f"At most {TOPIC_NAME_LENGTH} characters."
    if kind == PatternKind.EXACT:
        return "" if _is_topic_name(pattern) else _NO_NAME
    if kind == PatternKind.REGEX and _REPEATED_REPEAT.search(pattern):
        return "A repeat inside a repeat can take for ever on a name that does not fit."
    return _check_regex(kind, pattern)


def _is_topic_name(text: str) -> bool:
    return bool(_TOPIC_NAME.fullmatch(text)) and text not in {".", ".."}


def _check_regex(kind: str, pattern: str) -> str:
    try:
        compiled(kind, pattern)
    except re.error as problem:
        return f"Not a regular expression: {problem}."
    return ""


@lru_cache(maxsize=1024)
def compiled(kind: str, pattern: str) -> re.Pattern[str]:
    """Return what fits the whole name of a topic; raises `re.error`."""
    if kind == PatternKind.EXACT:
        return re.compile(re.escape(pattern))
    return re.compile(translate(pattern) if kind == PatternKind.GLOB else pattern)


@lru_cache(maxsize=1024)
def _read_config(config: str) -> Placement | str:
    """Return the placement of a topic's config, or why it is none; topics share few of them."""
    try:
        return parse_placement(config)
    except InvalidPlacement as invalid:
        return told(invalid.problems)


def told(problems: Mapping[str, str]) -> str:
    """Return what is wrong with a placement as one text."""
    return " ".join(f"{path}: {text}" if path else text for path, text in problems.items())
