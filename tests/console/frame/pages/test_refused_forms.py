"""A refused form: a summary with links at its top, the focus on the first wrong field, all faults at once."""

import re

import pytest
from django import forms
from django.template.loader import render_to_string
from django.urls import reverse

from console.frame.pages.forms import ActionForm
from jobs.cluster.errors import InvalidFields
from tests.console.making import make_cluster
from tests.console.schedules.making import make_schedule


class TwoFields(ActionForm):
    name = forms.CharField()
    zone = forms.CharField(label="Time zone")
    days = forms.IntegerField()


def html_of(form):
    return render_to_string("components/_form.html", {"form": form})


def focused(html):
    """Return the tag, and the name of the field."""
    return [
        (tag, (re.findall(r'name="(\w+)"', rest) or [""])[0])
        for tag, rest in re.findall(r"<(\w+)([^>]*)>", html)
        if " autofocus" in rest
    ]


def test_the_first_wrong_field_has_the_focus():
    html = html_of(TwoFields({"name": "a", "zone": "", "days": "x"}))
    assert focused(html) == [("input", "zone")]


def test_the_summary_links_each_fault_to_its_field():
    html = html_of(TwoFields({"name": "", "zone": "UTC", "days": "x"}))
    summary = html[html.index('role="alert"') : html.index("</div>")]
    assert '<a href="#id_name">Name</a>: This field is required.' in summary
    assert '<a href="#id_days">Days</a>: Enter a whole number.' in summary
    assert "Time zone" not in summary
    assert 'id="id_days"' in html


def test_without_a_wrong_field_the_summary_has_the_focus():
    form = TwoFields({"name": "a", "zone": "UTC", "days": "1"})
    form.add_error(None, "The database is full.")
    assert [tag for tag, _ in focused(html_of(form))] == ["div"]


@pytest.mark.parametrize("data", [None, {"name": "a", "zone": "UTC", "days": "1"}])
def test_a_form_without_faults_has_no_summary_and_takes_no_focus(data):
    html = html_of(TwoFields(data))
    assert "autofocus" not in html
    assert 'role="alert"' not in html


def refuse():
    raise InvalidFields({"name": "Taken.", "zone": "No such zone.", "other": "Not in this form."})


def test_a_further_check_adds_only_what_is_not_refused_yet():
    form = TwoFields({"name": "", "zone": "Mars", "days": "1"})
    form.complete(refuse)
    assert dict(form.errors) == {"name": ["This field is required."], "zone": ["No such zone."]}


@pytest.mark.django_db
def test_a_schedule_tells_all_its_faults_in_one_round(sign_in, operator):
    path = reverse("schedules:settings", args=[make_schedule(operator).pk])
    answer = sign_in(operator).post(path, {"name": "", "cron": "61 * * * *", "time_zone": "UTC"})
    assert set(answer.context["form"].errors) == {"name", "cron"}


@pytest.mark.django_db
def test_a_flow_tells_all_its_faults_in_one_round(sign_in, operator):
    make_cluster("east")
    make_cluster("west")
    given = {"name": "", "source": "east", "target": "west", "topics": "(", "tasks": "1"}
    answer = sign_in(operator).post(reverse("replication:new"), given)
    assert {"name", "topics"} <= set(answer.context["form"].errors)
