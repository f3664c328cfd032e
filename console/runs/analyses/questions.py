"""A question: a kind of analysis with its arguments, checked and allowed; and its serialisation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from django.core.exceptions import PermissionDenied

from console.frame.pages.states import spoken
from console.frame.security.access import Action, can, require
from console.runs import uploads
from console.runs.analyses import sources
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType, checked_arguments
from jobs.spark.analyses.kinds import ANALYSES, QUESTIONS

LONGEST_TITLE = 200
_EVERYWHERE = (
    "An analysis that is not about one cluster, flow or log needs the role operator everywhere. An "
    "administrator of crosslog can grant it."
)


class NeedsAdmin(PermissionDenied):
    """The choice of an argument (`name`) shows content of records: it needs the role admin."""

    def __init__(self, argument: Argument, choice: Any) -> None:
        self.name = argument.name
        super().__init__(
            f"{argument.label} {choice} shows content of records: it needs the role admin on all "
            "clusters of the analysis."
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A kind and its stored `arguments`: names of logs, flows, clusters and files, moments in Unix ms."""

    kind: str
    arguments: Mapping[str, Any]
    subject: str
    title: str

    @property
    def key(self) -> str:
        """The same for the same question."""
        text = json.dumps([self.kind, self.arguments], sort_keys=True)
        return sha256(text.encode()).hexdigest()


def read_question(
    kind: str,
    given: Mapping[str, Any],
    user: Any,
    analyses: Mapping[str, Analysis] = QUESTIONS,
) -> Question:
    """Return what a person asks; its logs, flows and clusters need the right to operate on their clusters.

    Raises InvalidFields with `kind` or names of arguments, and PermissionDenied.
    """
    analysis = analyses.get(kind)
    if analysis is None:
        raise _no_kind(kind, analyses)
    arguments = checked_arguments(analysis, given)
    found = _sources_of(analysis, arguments, user)
    # Who sees a run is said by one subject: without one it is for a role everywhere.
    subject = sources.subject_of(found)
    if not subject and not can(user, "operate"):
        raise PermissionDenied(_EVERYWHERE)
    clusters = {pk for one in found for pk in one.clusters} if subject else ()
    for one in _chosen_of_admins(analysis, arguments):
        if not can(user, "administer", *clusters):
            raise NeedsAdmin(one, arguments[one.name])
    labels = ", ".join(one.label for one in found)
    title = f"{analysis.title}: {labels}" if labels else analysis.title
    return Question(kind, arguments, subject, title[:LONGEST_TITLE])


def needed_right(
    kind: str, arguments: Mapping[str, Any], analyses: Mapping[str, Analysis] = ANALYSES
) -> Action:
    """Return the right on its clusters that a run needs: `administer` where it shows content of records."""
    analysis = analyses.get(kind)
    is_of_admins = analysis is not None and _chosen_of_admins(analysis, arguments)
    return "administer" if is_of_admins else "operate"


def written_arguments(
    kind: str, arguments: Mapping[str, Any], analyses: Mapping[str, Analysis] = ANALYSES
) -> dict[str, Any]:
    """Return stored arguments as JSON that can be asked again: moments in ISO 8601, UTC."""
    analysis = analyses.get(kind)
    if analysis is None:
        return dict(arguments)
    moments = {one.name for one in analysis.arguments if one.type is ArgumentType.MOMENT}
    # In the order of the form: the database may keep another one.
    order = [one.name for one in analysis.arguments if one.name in arguments]
    names = [*order, *(name for name in arguments if name not in order)]
    return {
        name: _iso(arguments[name])
        if name in moments and arguments[name] is not None
        else arguments[name]
        for name in names
    }


def scheduled_question(
    arguments: Mapping[str, Any], analyses: Mapping[str, Analysis] = QUESTIONS
) -> dict[str, Any]:
    """Return what a schedule keeps of `{"kind": ..., "arguments": {...}}`, checked but for rights.

    Raises InvalidFields with `kind`, `arguments` or names of arguments.
    """
    kind, given = str(arguments.get("kind", "")), arguments.get("arguments") or {}
    if kind not in analyses:
        raise _no_kind(kind, analyses)
    if not isinstance(given, Mapping):
        raise InvalidFields({"arguments": "A JSON object of arguments is needed."})
    checked = checked_arguments(analyses[kind], given)
    return {"kind": kind, "arguments": written_arguments(kind, checked, analyses)}


def labelled_arguments(
    kind: str, arguments: Mapping[str, Any], analyses: Mapping[str, Analysis] = ANALYSES
) -> list[tuple[str, Any]]:
    """Return the given arguments with the labels of the form."""
    analysis = analyses.get(kind)
    known = {one.name: one for one in analysis.arguments} if analysis else {}
    told = []
    for name, value in written_arguments(kind, arguments, analyses).items():
        if value is None:
            continue
        argument = known.get(name)
        if argument is not None and argument.type is ArgumentType.FILE:
            value = uploads.label_of(value)  # noqa: PLW2901  as people read it
        elif argument is not None and argument.type in sources.NOUNS:
            source = sources.get_source(argument.type, value)
            value = source.label if source else value  # noqa: PLW2901  as people read it
        told.append((argument.label if argument else spoken(name), value))
    return told


def _chosen_of_admins(analysis: Analysis, arguments: Mapping[str, Any]) -> list[Argument]:
    """Return the arguments whose value is one of their `admin_choices`."""
    return [one for one in analysis.arguments if arguments.get(one.name) in one.admin_choices]


def _sources_of(
    analysis: Analysis, arguments: Mapping[str, Any], user: Any
) -> list[sources.Source]:
    """Return the logs, flows and clusters of the question; files must exist."""
    found: list[tuple[Argument, sources.Source]] = []
    for argument in analysis.arguments:
        name = arguments[argument.name]
        if name is None:
            continue
        if argument.type is ArgumentType.FILE and uploads.find(name) is None:
            raise InvalidFields({argument.name: uploads.GONE})
        if argument.type not in sources.NOUNS:
            continue
        source = sources.get_source(argument.type, name)
        if source is not None and argument.type is ArgumentType.EXTRACTOR and not source.clusters:
            # A preset: the rights are those on the clusters of the question.
            continue
        if source is None or not can(user, "view", *source.clusters):
            noun = sources.NOUNS[argument.type]
            raise InvalidFields({argument.name: f"There is no {noun} {name[:100]}."})
        require(user, "operate", *source.clusters)
        found.append((argument, source))
    _check_extractors(found)
    return [source for _, source in found]


def _check_extractors(found: list[tuple[Argument, sources.Source]]) -> None:
    """Raise InvalidFields for an extractor of another cluster than that of the question."""
    clusters = {pk for _, one in found for pk in one.clusters}
    for argument, source in found:
        if argument.type is ArgumentType.EXTRACTOR and clusters - {*source.clusters}:
            raise InvalidFields({argument.name: f"{source.label} is for another cluster."})


def _no_kind(kind: str, analyses: Mapping[str, Analysis]) -> InvalidFields:
    known = ", ".join(analyses) or "none yet"
    return InvalidFields({"kind": f"There is no kind {kind[:40]!r}. Kinds: {known}."})


def _iso(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    text = moment.isoformat(timespec="milliseconds" if ms % 1000 else "seconds")
    return text.replace("+00:00", "Z")
