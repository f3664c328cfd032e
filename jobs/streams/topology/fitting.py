"""Whether a description of a topology is that of the application that runs: by the topics it reads. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from jobs.limits import some
from jobs.patterns.matching import list_problem, matcher_of
from jobs.streams.application import Application
from jobs.streams.topology.described import DescribedSubtopology, DescribedTopology, NodeKind


class _Sources(NamedTuple):
    topics: frozenset[str]
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """What differs between a description and what members read; `problems` are sentences, none: it fits.

    `is_other`: no topic is common to both, so it is the description of another application.
    """

    problems: tuple[str, ...] = ()
    is_other: bool = False

    @property
    def caution(self) -> str:
        """Why the description is not used; empty where it fits."""
        if not self.problems:
            return ""
        return (
            f"The description is not that of what runs, and is not used. {' '.join(self.problems)}"
        )


FITS = Fit()


def fit_of(described: DescribedTopology, application: Application) -> Fit:
    """Compare a description, with full topic names, with the assignment; one never seen whole fits.

    Global stores are read outside of the group, so that nothing of them is compared. A source by pattern may
    read any number of topics, also none. While the bytes of some members cannot be read, only topics that
    are read are compared.
    """
    runs = {name: frozenset(one.source_topics) for name, one in application.subtopologies.items()}
    if not any(runs.values()):
        return FITS
    told = {one.name: _sources(one) for one in described.subtopologies if not one.is_global}
    read = frozenset().union(*runs.values())
    named = frozenset().union(*(one.topics for one in told.values()))
    patterns = [text for one in told.values() for text in one.patterns]
    extra, missing = named - read, _left_out(read, named, patterns)
    if any(one.problem for one in application.threads):
        return Fit(tuple(_topic_problems((), missing)))
    problems = tuple(_topic_problems(extra, missing)) or tuple(_part_problems(told, runs))
    return Fit(problems, is_other=missing == read)


def _topic_problems(extra: Collection[str], missing: Collection[str]) -> Iterator[str]:
    if extra:
        yield f"The description reads {_names(extra)}, which the application does not read."
    if missing:
        yield f"The application reads {_names(missing)}, which the description does not read."


def _part_problems(told: dict[str, _Sources], runs: dict[str, frozenset[str]]) -> Iterator[str]:
    """Compare subtopology by subtopology; one that reads by pattern only may have no tasks now."""
    certain = {name for name, one in told.items() if one.topics}
    if not certain <= runs.keys() <= told.keys():
        yield (
            f"The description has {_count(told)} ({_names(told)}), the application runs "
            f"{len(runs)} ({_names(runs)})."
        )
        return
    for name, topics in runs.items():
        one = told[name]
        if one.topics - topics or _left_out(topics, one.topics, one.patterns):
            yield (
                f"Subtopology {name} reads {_names((*one.topics, *one.patterns))} by the description, "
                f"{_names(topics)} in the application."
            )


def _left_out(
    read: frozenset[str], named: frozenset[str], patterns: Iterable[str]
) -> frozenset[str]:
    """Return the topics that are read and neither named nor matched; what cannot be evaluated matches all."""
    left, texts = read - named, tuple(patterns)
    if not left or not texts:
        return left
    if list_problem(texts) is not None:
        return frozenset()
    fits = matcher_of(texts).matches
    return frozenset(topic for topic in left if not fits(topic))


def _sources(one: DescribedSubtopology) -> _Sources:
    nodes = [node for node in one.nodes if node.kind is NodeKind.SOURCE]
    topics = frozenset(topic for node in nodes for topic in node.topics)
    return _Sources(topics, tuple(node.pattern for node in nodes if node.pattern is not None))


def _count(told: Collection[str]) -> str:
    return f"{len(told)} subtopolog{'y' if len(told) == 1 else 'ies'}"


def _names(names: Iterable[str]) -> str:
    return some(sorted(set(names)))
