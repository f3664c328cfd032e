"""The form of the designer: sites, data loss (RPO), recovery time (RTO), observers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.clusters.models import TOPIC_NAME_LENGTH, Topic
from console.frame.pages.forms import ActionForm, lines_field, split_lines
from jobs.availability.designer.requirements import (
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
)

LARGEST_ID = 2**31 - 1
MOST_SITES = 20
MOST_BROKERS = 500
MOST_PARTITIONS = 1000
MOST_COPIES = 32
MOST_VOTERS = 15
LONGEST_S = 86_400.0

RPOS = (
    (LossAllowed.ZERO.value, "No acknowledged record (RPO 0)"),
    (LossAllowed.BOUNDED.value, "Records that no other site has yet"),
)
WRITABLE = (
    (WritableAfter.SITE.value, "The loss of a site"),
    (WritableAfter.BROKER.value, "The loss of a broker"),
    (WritableAfter.NOTHING.value, "No failure: writes may stop"),
)
OBSERVERS = (
    (ObserverSupport.NONE.value, "None"),
    (ObserverSupport.FENCED_STANDBY.value, "Fenced standby brokers, on plain Kafka"),
    (ObserverSupport.PROMOTES_ITSELF.value, "Observers of the brokers (Confluent Server)"),
)


class DesignForm(ActionForm):
    """Requirements; the values are in the address."""

    sites = lines_field(
        "Sites",
        "One per line with its brokers: west = 1, 2. A site without brokers holds controllers only: "
        "arbiter =",
        rows=4,
        missing="Name at least one site, with its brokers.",
    )
    rpo = forms.ChoiceField(label="Acceptable data loss on site failure", choices=RPOS)
    writable_after = forms.ChoiceField(label="Writable after", choices=WRITABLE)
    rto_s = forms.FloatField(
        label="Recovery time (s)",
        required=False,
        min_value=0.1,
        max_value=LONGEST_S,
    )
    observers = forms.ChoiceField(label="Observers", choices=OBSERVERS)
    standbys = forms.CharField(
        label="Fenced standby brokers",
        required=False,
        max_length=2000,
        help_text="Ids of brokers that run, or are planned, as fenced standby.",
    )
    topic = forms.CharField(
        required=False,
        max_length=TOPIC_NAME_LENGTH,
        help_text="Used in the commands. For an existing topic they move its replicas.",
    )
    partitions = forms.IntegerField(
        initial=1,
        required=False,
        min_value=1,
        max_value=MOST_PARTITIONS,
        help_text="Of a new topic; an existing topic keeps its partitions.",
    )
    preferred_site = forms.CharField(
        label="Preferred site of leaders", required=False, max_length=255
    )
    majority_site = forms.CharField(
        label="Site with the controller majority",
        required=False,
        max_length=255,
        help_text="Required with two sites: the loss of this site stops the quorum.",
    )
    most_copies = forms.IntegerField(
        label="Maximum copies",
        required=False,
        min_value=1,
        max_value=MOST_COPIES,
        help_text="Replicas and observers together.",
    )

    def take_errors(self, errors: Mapping[str, str], general: str = "") -> None:
        """Put sentences to their fields; those of a part name the part."""
        for name, text in errors.items():
            field = name.partition("[")[0].partition(".")[0]
            known = field in self.fields
            self.add_error(field if known else None, text if name == field else f"{name}: {text}")
        if general and not errors:
            self.add_error(None, general)

    def clean_sites(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return names and brokers."""
        found = [_read_site(line) for line in split_lines(self.cleaned_data["sites"])]
        if len(found) > MOST_SITES:
            raise forms.ValidationError(f"At most {MOST_SITES} sites.")
        return found

    def clean_standbys(self) -> tuple[int, ...]:
        return _read_ids(self.cleaned_data["standbys"])

    def clean(self) -> dict[str, Any]:
        """Refuse standby brokers that are in no site."""
        values: dict[str, Any] = super().clean() or {}
        known = {one for _, brokers in values.get("sites", ()) for one in brokers}
        strange = [one for one in values.get("standbys", ()) if one not in known]
        if strange and "sites" not in self.errors:
            self.add_error("standbys", f"Broker {strange[0]} is in no site.")
        return values

    @property
    def named_topic(self) -> str:
        """The entered topic; call after `is_valid`."""
        return str(self.cleaned_data["topic"])

    def check_topic(self, known: Topic | None) -> None:
        """Refuse more partitions than an existing topic has: a placement moves them and adds none."""
        if known is not None and (self.cleaned_data["partitions"] or 1) > known.partition_count:
            self.add_error(
                "partitions",
                f"{known.name} has {known.partition_count}. Add partitions first (kafka-topics.sh --alter "
                "--partitions), or leave this empty.",
            )

    def requirements(self, known: Topic | None) -> dict[str, Any]:
        """Return the fields of `DesignRequirements` for an existing topic (None: for a new one)."""
        given = self.cleaned_data
        standby = set(given["standbys"])
        sites = tuple(
            Site(name, brokers, tuple(one for one in brokers if one in standby))
            for name, brokers in given["sites"]
        )
        return {
            "sites": sites,
            "rpo": LossAllowed(given["rpo"]),
            "rto_s": given["rto_s"],
            "writable_after": WritableAfter(given["writable_after"]),
            "observers": ObserverSupport(given["observers"]),
            "topic": given["topic"] or "TOPIC",
            "partitions": known.partition_count if known else given["partitions"] or 1,
            "is_existing_topic": known is not None,
            "preferred_site": given["preferred_site"] or None,
            "majority_site": given["majority_site"] or None,
            "most_copies": given["most_copies"],
        }


def initial_of(picture: ClusterSnapshot) -> dict[str, Any]:
    """Return the form filled in with the sites of a cluster."""
    racks: dict[str, list[int]] = {}
    for one in picture.brokers:
        if one.rack:
            racks.setdefault(one.rack, []).append(one.broker_id)
    for voter in picture.voters:
        if voter.rack:
            racks.setdefault(voter.rack, [])
    lines = [f"{rack} = {', '.join(map(str, racks[rack]))}".rstrip() for rack in sorted(racks)]
    standbys = [str(one.broker_id) for one in picture.brokers if one.is_standby]
    support = ObserverSupport.NONE
    if picture.promotes_itself:
        support = ObserverSupport.PROMOTES_ITSELF
    elif standbys:
        support = ObserverSupport.FENCED_STANDBY
    return {
        "sites": "\n".join(lines),
        "standbys": ", ".join(standbys),
        "observers": support.value,
        "rpo": LossAllowed.ZERO.value,
        "writable_after": WritableAfter.SITE.value,
        "partitions": 1,
    }


def _read_site(line: str) -> tuple[str, tuple[int, ...]]:
    name, _, rest = line.partition("=")
    if not name.strip():
        raise forms.ValidationError(f"{line!r} is not a line like west = 1, 2.")
    return name.strip(), _read_ids(rest)


def _read_ids(text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if len(words) > MOST_BROKERS:
        raise forms.ValidationError(f"At most {MOST_BROKERS} brokers.")
    for word in words:
        if not (word.isascii() and word.isdecimal()) or int(word) > LARGEST_ID:
            raise forms.ValidationError(f"{word!r} is not a broker id.")
    return tuple(int(word) for word in words)
