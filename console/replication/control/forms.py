"""The forms of a flow's control: text from a browser to the values that the actions check."""

from __future__ import annotations

from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm, lines_field, split_lines
from console.replication.control import control
from console.replication.flows.models import ReplicationFlow
from jobs.replication.flow.spec import HIGHEST_BYTES_PER_S, LOWEST_BYTES_PER_S
from jobs.spark.control import BULK_LAG, HIGHEST_PRIORITY

AS_SET, NO_LIMIT, OWN_LIMIT = "setting", "none", "own"


class ControlForm(ActionForm):
    """What is asked of a flow while it runs; what is wrong with it is said by the action."""

    paused = lines_field(
        "Paused",
        "These are not copied until they are taken out here, one per line: a topic (orders) or a "
        "partition (orders:3).",
    )
    priorities = lines_field(
        "Priorities",
        f"A line like orders = 3 lets a topic have more of its task while there is a backlog: one more "
        f"is twice the bytes, from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}.",
    )
    limit = forms.ChoiceField(
        label="Limit",
        choices=[
            (AS_SET, "As in the settings"),
            (NO_LIMIT, "No limit"),
            (OWN_LIMIT, "The bytes per second below"),
        ],
        help_text="Counts in place of the flow's setting until it is changed here.",
    )
    max_bytes_per_s = forms.IntegerField(
        label="Bytes per second",
        required=False,
        min_value=LOWEST_BYTES_PER_S,
        max_value=HIGHEST_BYTES_PER_S,
        help_text="Of the whole flow, shared evenly by its tasks; only with the limit above.",
    )
    windows = lines_field(
        "Windows for bulk copying",
        "A partition that is far behind is copied in these hours only, one window per line: Mon-Fri "
        "22:00-06:00 Europe/Berlin. Without windows it is copied at once.",
        rows=2,
    )
    bulk_lag = forms.IntegerField(
        label="Far behind",
        required=False,
        min_value=0,
        help_text=f"A partition that was never fewer records behind than this ({BULK_LAG:,} when empty) "
        "waits for a window.",
    )

    def clean_priorities(self) -> dict[str, int]:
        """Read lines like `orders = 3`."""
        found = {}
        for line in split_lines(self.cleaned_data["priorities"]):
            topic, equals, number = (part.strip() for part in line.partition("="))
            if not (equals and topic and _is_whole(number)):
                raise forms.ValidationError(f"{line} is not a line like orders = 3.")
            found[topic] = int(number)
        return found

    def clean(self) -> dict[str, Any]:
        """Miss a number where a limit is chosen."""
        values: dict[str, Any] = super().clean() or {}
        is_missing = values.get("max_bytes_per_s") is None and "max_bytes_per_s" not in self.errors
        if values.get("limit") == OWN_LIMIT and is_missing:
            self.add_error("max_bytes_per_s", "How many bytes per second?")
        return values

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them; call after `is_valid`."""
        given = self.cleaned_data
        values = {
            "paused": split_lines(given["paused"]),
            "priorities": given["priorities"],
            "windows": split_lines(given["windows"]),
            "bulk_lag": given["bulk_lag"],
            "own_limit": given["limit"] != AS_SET,
        }
        limit = given["max_bytes_per_s"] if given["limit"] == OWN_LIMIT else None
        return values if given["limit"] == AS_SET else {**values, "max_bytes_per_s": limit}


class RestartForm(ActionForm):
    """Which topics and partitions begin anew."""

    names = lines_field(
        "Topics and partitions",
        "These begin anew at their committed positions, failed ones included; one per line: a topic "
        "(orders) or a partition (orders:3).",
        rows=2,
        missing="Name a topic, or a partition like orders:3.",
    )

    def values(self) -> list[str]:
        """Return the names; call after `is_valid`."""
        return split_lines(self.cleaned_data["names"])


def initial_of(flow: ReplicationFlow) -> dict[str, Any]:
    """Return what a flow's control looks like in the form."""
    now = control.shown(flow)
    own = OWN_LIMIT if now["max_bytes_per_s"] is not None else NO_LIMIT
    return {
        "paused": "\n".join(now["paused"]),
        "priorities": "\n".join(f"{topic} = {p}" for topic, p in now["priorities"].items()),
        "limit": own if now["own_limit"] else AS_SET,
        "max_bytes_per_s": now["max_bytes_per_s"],
        "windows": "\n".join(now["windows"]),
        "bulk_lag": None if now["bulk_lag"] == BULK_LAG else now["bulk_lag"],
    }


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 4  # noqa: PLR2004  more is out of range
