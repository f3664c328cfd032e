"""The form of a schedule; what is wrong is said by the actions, at the field."""

from __future__ import annotations

from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm
from console.schedules import actions, timing
from console.schedules.models import Schedule


def _text(label: str, help_text: str, longest: int, initial: str = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(
        label=label, help_text=help_text, max_length=longest, initial=initial, widget=widget
    )


class ScheduleForm(ActionForm):
    """A name and times."""

    name = _text("Name", "What people call it.", 200)
    cron = _text(
        "Times (cron)",
        f"{timing.HELP} */15 * * * * is every quarter of an hour.",
        timing.LONGEST_CRON,
        "0 3 * * *",
    )
    time_zone = _text(
        "Time zone",
        "Europe/Berlin, America/New_York, UTC. A local time that the clocks skip comes right after the gap, "
        "one that they repeat comes once.",
        64,
        "UTC",
    )
    is_enabled = forms.BooleanField(
        label="Enabled",
        required=False,
        initial=True,
        help_text="Off: nothing is started by itself.",
    )


class ChangeScheduleForm(ScheduleForm):
    """The same of a schedule that is there."""

    def __init__(self, schedule: Schedule, *args: Any, **kwargs: Any) -> None:
        initial = {name: getattr(schedule, name) for name in actions.CHANGEABLE}
        super().__init__(*args, **{"initial": initial, **kwargs})
