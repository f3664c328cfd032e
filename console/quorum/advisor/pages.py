"""The page of the voter change planner."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.frame.pages.forms import ActionForm
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.quorum import equivalents, queries
from console.quorum.advisor.advice import VoterChangeRequest, advise
from console.quorum.page_context import around_log, find_log
from jobs.numbers import read_whole

MOST_IDS = 20
_LARGEST_ID = 2**31 - 1


class ChangeForm(ActionForm):
    """The requested change, as the address has it."""

    add = forms.CharField(
        label="Add voters",
        required=False,
        max_length=200,
        help_text="Ids of controllers that run as observers, separated by blanks.",
    )
    remove = forms.CharField(
        label="Remove voters", required=False, max_length=200, help_text="Ids of voters."
    )
    replace = forms.CharField(
        label="Replace the disk of",
        required=False,
        max_length=200,
        help_text="Ids of voters that restart with an empty disk.",
    )
    sites = forms.CharField(
        label="Sites of nodes",
        required=False,
        max_length=1000,
        help_text="1=dc-a 2=dc-b 3=dc-c: the plan then names sites whose loss stops the quorum.",
    )
    per_site = forms.CharField(
        label="Voters per site",
        required=False,
        max_length=400,
        help_text="Instead of ids: dc-a=2 dc-b=2 dc-c=1. The planner chooses the voters to add and remove.",
    )

    def clean_add(self) -> list[int]:
        return read_ids(self.cleaned_data["add"])

    def clean_remove(self) -> list[int]:
        return read_ids(self.cleaned_data["remove"])

    def clean_replace(self) -> list[int]:
        return read_ids(self.cleaned_data["replace"])

    def clean_sites(self) -> dict[int, str]:
        pairs = _pairs(self.cleaned_data["sites"])
        return {read_ids(name)[0]: value for name, value in pairs.items()}

    def clean_per_site(self) -> dict[str, int]:
        """Return numbers of voters by site."""
        pairs = _pairs(self.cleaned_data["per_site"])
        return {name: read_ids(value)[0] for name, value in pairs.items()}


def read_ids(text: str) -> list[int]:
    """Return numbers separated by blanks or commas; raises `forms.ValidationError`."""
    words = text.replace(",", " ").split()
    if len(words) > MOST_IDS:
        raise forms.ValidationError(f"At most {MOST_IDS} at once.")
    for word in words:
        if read_whole(word, _LARGEST_ID) is None:
            raise forms.ValidationError(f"{word[:40]!r} is not a node id.")
    return [int(word) for word in words]


@require_safe
@page("view", queries.where)
def advisor_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show safe steps for a voter change; nothing is changed."""
    log = find_log(alias)
    if log.is_imported:
        raise Http404("An imported log has no quorum whose voters could be changed.")
    status = queries.status_of(log)
    is_asked = any(request.GET.get(name) for name in ChangeForm.base_fields)
    form = ChangeForm(request.GET if is_asked else None)
    context: dict[str, Any] = {
        **around_log(request, log, "advisor"),
        "form": form,
        "status": status,
        "equivalents": equivalents.of_advice(log, request.GET.dict() if is_asked else {}),
    }
    if is_asked and status is not None and not status.unjudged and form.is_valid():
        context["plan"] = advise(log, status, VoterChangeRequest(**form.cleaned_data))
    return render_page(request, "quorum/advisor/page.html", context)


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for word in text.replace(",", " ").split():
        name, sign, value = word.partition("=")
        if not (name and sign and value):
            raise forms.ValidationError(f"{word!r} is not of the form name=value.")
        found[name] = value
    return found
