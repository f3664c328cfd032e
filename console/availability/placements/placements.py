"""The effective placement of a topic: its config, else assigned by name, else by pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from console.availability.placements.models import PatternKind, TopicPlacement
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from jobs.availability.placements.placement import InvalidPlacement, Placement, parse_placement
from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import (
    Expression,
    Matcher,
    expression_of,
    glob_expression,
    name_expression,
    refusal_of,
)

# The topic config of Confluent Server that holds a placement.
CONFIG = "confluent.placement.constraints"
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_NO_NAME = "Not a valid topic name. Allowed: letters, digits, '.', '_' and '-'."


class Origin(StrEnum):
    """The source of a topic's placement, in order of precedence."""

    PROPOSED = "proposed"
    TOPIC_CONFIG = "topic_config"
    EXACT = "exact"
    PATTERN = "pattern"
    NONE = "none"

    @property
    def label(self) -> str:
        """The text of the source."""
        return _LABELS[self]


_LABELS = {
    Origin.PROPOSED: "Proposed",
    Origin.TOPIC_CONFIG: "Topic config",
    Origin.EXACT: "Assigned to the topic",
    Origin.PATTERN: "Assigned by a pattern",
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
    """The placements of one cluster, ready to be asked for many topics.

    `problems` are sentences about stored patterns that cannot be evaluated any more: they fit no topic.
    """

    def __init__(self, rows: Iterable[TopicPlacement], proposed: Sequence[Proposed] = ()) -> None:
        ordered = sorted(rows, key=precedence)
        # What names these rules: equal ones say the same of every topic.
        self.key = (tuple((row.pk, row.changed_at) for row in ordered), tuple(proposed))
        self._exact = {row.pattern: row for row in ordered if row.kind == PatternKind.EXACT}
        patterns = [row for row in ordered if row.kind != PatternKind.EXACT]
        read = [(row, read_pattern(row.kind, row.pattern)) for row in patterns]
        self._patterns = [row for row, found in read if isinstance(found, Expression)]
        self._matcher = Matcher(found for _, found in read if isinstance(found, Expression))
        self.problems = tuple(
            f"The pattern {row.pattern} of a placement cannot be evaluated: {found}"
            for row, found in read
            if isinstance(found, str)
        )
        self._proposed = tuple(proposed)
        self._proposed_matcher = Matcher(expression(one.kind, one.pattern) for one in proposed)
        self._parsed: dict[Any, Placement] = {}

    def of(self, topic: str, config: str = "") -> Resolved:
        """Return the placement of a topic; `config` is its own, empty when it has none."""
        proposed = self.proposed_for(topic)
        if proposed is not None:
            return Resolved(proposed.placement, Origin.PROPOSED)
        if config:
            return self._own(config)
        row = self._exact.get(topic)
        if row is not None:
            return Resolved(self._parse(row), Origin.EXACT, row)
        place = self._matcher.first(topic)
        if place is None:
            return Resolved()
        row = self._patterns[place]
        return Resolved(self._parse(row), Origin.PATTERN, row)

    def proposed_for(self, topic: str) -> Proposed | None:
        """Return the proposal that a topic falls under."""
        place = self._proposed_matcher.first(topic)
        return None if place is None else self._proposed[place]

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
    """Return the error of a topic name or pattern; empty when valid."""
    if not pattern:
        return "Enter a topic or a pattern."
    if len(pattern) > TOPIC_NAME_LENGTH:
        return f"At most {TOPIC_NAME_LENGTH} characters."
    if kind == PatternKind.EXACT:
        return "" if _is_topic_name(pattern) else _NO_NAME
    found = read_pattern(kind, pattern)
    return found if isinstance(found, str) else ""


def _is_topic_name(text: str) -> bool:
    return bool(_TOPIC_NAME.fullmatch(text)) and text not in {".", ".."}


@lru_cache(maxsize=1024)
def expression(kind: str, pattern: str) -> Expression:
    """Return what fits the whole name of a topic; raises `NotAPattern`."""
    if kind == PatternKind.EXACT:
        return name_expression(pattern)
    return glob_expression(pattern) if kind == PatternKind.GLOB else expression_of(pattern)


def read_pattern(kind: str, pattern: str) -> Expression | str:
    """Return what fits the whole name of a topic, or why a pattern cannot be evaluated.

    Also for what is stored: it was checked, but by the rules of the version that stored it.
    """
    try:
        return expression(kind, pattern)
    except NotAPattern as error:
        return refusal_of(pattern, error)


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
