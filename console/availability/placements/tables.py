"""The table of placements."""

from __future__ import annotations

import json

from django.urls import reverse

from console.availability.placements.models import PatternKind, TopicPlacement
from console.frame.tables.columns import Choice, Column
from console.frame.tables.table import Table


def _edit(row: TopicPlacement) -> str:
    return reverse("availability:placement", args=[row.cluster.alias, row.pk])


# Shorter than in the form: a menu is as wide as its longest word.
_KINDS = (
    (PatternKind.EXACT.value, "a topic"),
    (PatternKind.GLOB.value, "a glob"),
    (PatternKind.REGEX.value, "an expression"),
)

PLACEMENTS = Table(
    columns=(
        Column("pattern", "Topic or pattern", "pattern", link=_edit),
        Column("get_kind_display", "Match", "kind", csv="kind"),
        Column(
            "priority",
            "Priority",
            "priority",
            numeric=True,
            definition="Of several matching patterns the highest priority applies, then the longest.",
        ),
        Column(
            "document",
            "Placement",
            template="availability/cells/placement.html",
            csv=lambda row: json.dumps(row.document),
        ),
        Column("note", "Note", "note", is_hidden=True),
        Column("changed_by", "Changed by", "changed_by"),
        Column("changed_at", "Changed", "changed_at", template="clusters/cells/ago.html"),
    ),
    search=("pattern", "note"),
    filters={"kind": Choice("Match", _KINDS, lambda rows, value: rows.filter(kind=value))},
    default_sort="pattern",
    name="rules",
)
