"""The form of a failure simulation: point in time, proposed placement, next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django import forms
from django.http import QueryDict

from console.availability.placements.models import PatternKind
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.availability.what_if.query import PREFERRED, STEP_VERBS, UNCLEAN, target_texts
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.pages.forms import ActionForm
from jobs.availability.what_if.steps import Loss, Return, Step


class WhatIfForm(ActionForm):
    """Parameters beside the steps; the values are in the address."""

    at = forms.CharField(
        label="Point in time",
        required=False,
        max_length=64,
        help_text="A time such as 2026-11-21T03:04:00Z is read from the metadata log. Default: now.",
    )
    sites = forms.CharField(
        label="Controller sites",
        required=False,
        max_length=1000,
        help_text="4=west 5=east, for controllers that are not brokers: Kafka does not report their racks.",
    )
    observers = forms.ChoiceField(
        required=False,
        choices=[
            ("", "As on this cluster"),
            ("brokers", "Managed by the brokers (Confluent Server)"),
        ],
        help_text="Plain Kafka keeps only fenced standby brokers out of the ISR.",
    )
    pattern = forms.CharField(
        label="Topic or pattern",
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        help_text="Topics with a proposed placement.",
    )
    kind = forms.ChoiceField(label="Match topics by", required=False, choices=PatternKind.choices)
    placement = forms.CharField(
        label="Proposed placement",
        required=False,
        max_length=20_000,
        help_text="Confluent's placement JSON. Replicas are assigned as by a reassignment.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )
    min_insync_replicas = forms.CharField(
        label="Proposed min.insync.replicas",
        required=False,
        max_length=6,
        help_text="Default: the current value.",
    )

    def take_errors(self, errors: Mapping[str, str], general: str = "") -> None:
        """Put sentences to their fields; those of a part of the placement name the part."""
        for name, text in errors.items():
            field, _, part = name.partition(".")
            known = field in self.fields
            full = f"{part}: {text}" if part and known and field != "steps" else text
            self.add_error(field if known else None, full)
        if general and not errors:
            self.add_error(None, general)


@dataclass(frozen=True, slots=True)
class Target:
    """A rack or node that can fail: its text in the address, its name, its note."""

    value: str
    name: str
    note: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class SiteTargets:
    """A rack and its nodes; `rack` None: the nodes without a known rack."""

    rack: Target | None
    nodes: Sequence[Target]


def targets_of(snapshot: ClusterSnapshot, steps: Sequence[Step]) -> list[SiteTargets]:
    """Return all racks and nodes, by site; those that the steps failed already are marked."""
    racks = sorted(
        {one.rack for one in snapshot.brokers if one.rack}
        | {one.rack for one in snapshot.voters if one.rack}
    )
    gone = _gone(steps)
    found = [
        SiteTargets(_rack(snapshot, rack, gone), _nodes(snapshot, rack, gone)) for rack in racks
    ]
    bare = _nodes(snapshot, None, gone)
    return [*found, *([SiteTargets(None, bare)] if bare else [])]


def next_step(query: QueryDict) -> str:
    """Return the step that the form adds, as text; empty when it adds none."""
    verb = query.get("then", "")
    topic = query.get("election_topic", "").strip()
    if verb in {UNCLEAN, PREFERRED}:
        return f"{verb}:{quote(topic, safe='')}" if topic else verb
    marked = query.getlist("mark")
    if not marked or verb not in STEP_VERBS:
        return ""
    return f"{verb}:{','.join(marked)}"


def _gone(steps: Sequence[Step]) -> set[str]:
    gone: set[str] = set()
    for step in steps:
        if isinstance(step, Loss):
            gone |= set(target_texts(step))
        elif isinstance(step, Return):
            gone -= set(target_texts(step))
    return gone


def _rack(snapshot: ClusterSnapshot, rack: str, gone: set[str]) -> Target:
    value = f"rack:{quote(rack, safe='')}"
    brokers = [one for one in snapshot.brokers if one.rack == rack]
    voters = [one for one in snapshot.voters if one.rack == rack]
    note = f"{len(brokers)} broker{'s' * (len(brokers) != 1)}, {len(voters)} voter{'s' * (len(voters) != 1)}"
    return Target(value, rack, note, value in gone)


def _nodes(snapshot: ClusterSnapshot, rack: str | None, gone: set[str]) -> list[Target]:
    voters = {one.node_id: one for one in snapshot.voters}
    brokers = [one for one in snapshot.brokers if one.rack == rack]
    found = []
    for one in brokers:
        value = f"broker:{one.broker_id}"
        is_voter = one.broker_id in voters
        words = [w for w, said in (("voter", is_voter), ("fenced standby", one.is_standby)) if said]
        note = ", ".join([*words, *([] if one.is_alive else ["down now"])])
        found.append(Target(value, f"broker {one.broker_id}", note, value in gone))
    known = {one.broker_id for one in snapshot.brokers}
    alone = [one for one in snapshot.voters if one.rack == rack and one.node_id not in known]
    for voter in alone:
        value = f"controller:{voter.node_id}"
        note = "voter" if voter.is_alive else "voter, silent now"
        found.append(Target(value, f"controller {voter.node_id}", note, value in gone))
    return found


def values_of(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form's values of an address."""
    given = {name: query[name] for name in WhatIfForm.base_fields if query.get(name)}
    return {"kind": PatternKind.EXACT.value, **given}
