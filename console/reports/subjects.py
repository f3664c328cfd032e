"""What reports are about: flows or clusters, by name for people, by primary key in the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from console.clusters.models import Cluster
from console.frame.security.access import visible
from console.replication.flows import queries as flows
from jobs.cluster.errors import InvalidFields
from jobs.reports.kinds.kind import KINDS, SubjectNoun

NOUNS = {SubjectNoun.FLOW: "flow", SubjectNoun.CLUSTER: "cluster"}
_NAMED_BY = {SubjectNoun.FLOW: "name", SubjectNoun.CLUSTER: "alias"}


def list_subjects(noun: SubjectNoun, person: Any) -> QuerySet[Any]:
    """Return the flows or clusters that a person may see, by name."""
    rows: QuerySet[Any] = flows.list_flows() if noun is SubjectNoun.FLOW else Cluster.objects.all()
    if noun is SubjectNoun.NONE:
        return rows.none()
    return visible(person, rows).order_by(_NAMED_BY[noun])


def name_of(row: Any) -> str:
    """Return what people call a flow or a cluster."""
    return str(getattr(row, "alias", None) or row.name)


def read_names(kind: str, names: Sequence[str], person: Any) -> list[int]:
    """Return the primary keys of the subjects that a person names; raises `InvalidFields`: `subjects`."""
    noun = KINDS[kind].subject
    if noun is SubjectNoun.NONE:
        if names:
            raise InvalidFields({"subjects": "This kind of report has no subjects."})
        return []
    found = {name_of(row): row.pk for row in list_subjects(noun, person)}
    unknown = [name for name in names if name not in found]
    if unknown:
        raise InvalidFields({"subjects": f"There is no {NOUNS[noun]} {unknown[0][:100]}."})
    return sorted({found[name] for name in names})


def names_of(kind: str, keys: Collection[int], person: Any) -> list[str]:
    """Return the names of those of some subjects that a person may see."""
    if not keys or kind not in KINDS:
        return []
    return [name_of(row) for row in subjects_of(kind, keys, person)]


def subjects_of(kind: str, keys: Collection[int], person: Any) -> list[Any]:
    """Return the subjects of a report that a person may see now; without any keys all of them."""
    rows = list_subjects(KINDS[kind].subject, person)
    return list(rows.filter(pk__in=keys) if keys else rows)


def clusters_of(rows: Iterable[Any]) -> set[int]:
    """Return the clusters whose data a report about these flows or clusters shows."""
    found: set[int] = set()
    for row in rows:
        found |= {row.source_id, row.target_id} if hasattr(row, "source_id") else {row.pk}
    return found


def names_by_report(reports: Iterable[Any], person: Any) -> dict[int, list[str]]:
    """Return the names of the visible subjects of many reports, by primary key; two queries at most."""
    found: dict[int, list[str]] = {}
    known: dict[SubjectNoun, dict[int, str]] = {}
    for report in reports:
        noun = KINDS[report.kind].subject if report.kind in KINDS else SubjectNoun.NONE
        if report.subjects and noun not in known:
            known[noun] = {row.pk: name_of(row) for row in list_subjects(noun, person)}
        names = known.get(noun, {})
        found[report.pk] = [names[key] for key in report.subjects if key in names]
    return found
