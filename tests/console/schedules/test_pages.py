"""The pages of schedules."""

import json

import pytest
from django.urls import reverse

from console.schedules import actions
from console.schedules.models import Schedule
from tests.console.making import count_queries
from tests.console.schedules.making import KIND, NOW, make_schedule, refusing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("room")]
NEW, LIST = "/schedules/new/", "/schedules/"
WHAT = {"kind": KIND, "arguments": json.dumps({"to": "ada"})}
TIMES = {"name": "Letter", "cron": "0 3 * * *", "time_zone": "Europe/Berlin", "is_enabled": "on"}


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


def text_of(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_empty_list_says_so(as_operator):
    assert "No schedules yet" in text_of(as_operator, LIST)


def test_the_list_shows_times_in_words_and_what_came_of_the_last_one(as_operator, operator):
    schedule = make_schedule(operator, time_zone="Europe/Berlin")
    actions.run_now(schedule.pk, operator, NOW)
    text = text_of(as_operator, LIST)
    for part in ("Letter to Ada", "*/5 * * * *", "Europe/Berlin", "13:05", "Started"):
        assert part in text


def test_a_schedule_without_a_run_says_so_under_its_columns(as_operator, operator):
    make_schedule(operator)
    text = text_of(as_operator, LIST).split("<thead>")[1]
    columns = [text.index(f">{title}<") for title in ("Schedule", "Next run", "Last run", "Owner")]
    assert columns == sorted(columns)
    assert "Not run yet." in text


def test_a_list_of_three_asks_no_more_than_a_list_of_one(as_operator, operator):
    make_schedule(operator)
    one = count_queries(as_operator, LIST)
    make_schedule(operator), make_schedule(operator)
    assert count_queries(as_operator, LIST) == one


def test_the_new_page_shows_what_it_was_linked_with(as_operator):
    text = text_of(as_operator, NEW, title="Letter to Ada", **WHAT)
    for part in ("Letter to Ada", "<dt>Kind</dt><dd>Letter</dd>", "<dt>To</dt><dd>ada</dd>"):
        assert part in text


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param({}, "Start from an analysis or a report", id="nothing"),
        pytest.param({"kind": "x"}, "Jobs of the kind x cannot be scheduled", id="an unknown kind"),
        pytest.param({"kind": KIND}, "Say to whom.", id="what the starter says"),
        pytest.param({"kind": KIND, "arguments": "[1]"}, "not a JSON object", id="a list"),
        pytest.param({"kind": KIND, "arguments": "{"}, "not a JSON object", id="half"),
    ],
)
def test_the_new_page_says_what_cannot_be_put_on_a_schedule(as_operator, query, says):
    assert says in text_of(as_operator, NEW, **query)


def test_an_operator_puts_something_on_schedule(as_operator, operator):
    answer = as_operator.post(NEW, WHAT | TIMES)
    schedule = Schedule.objects.get()
    assert answer["Location"] == reverse("schedules:detail", args=[schedule.pk])
    assert (schedule.created_by, schedule.arguments) == (operator, {"to": "ada"})


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"cron": "61 * * * *"}, "bad minute"),
        ({"time_zone": "Mars"}, "Unknown time zone"),
        ({"name": ""}, "This field is required"),
    ],
    ids=["cron", "time zone", "name"],
)
def test_an_error_is_at_its_field_and_the_rest_stays(as_operator, changed, says):
    text = as_operator.post(NEW, WHAT | TIMES | changed).content.decode()
    assert says in text
    assert "field--wrong" in text
    assert 'name="arguments" value="{&quot;to&quot;: &quot;ada&quot;}"' in text
    assert not Schedule.objects.exists()


def test_the_preview_names_the_next_three_times(as_operator):
    text = as_operator.post("/schedules/preview/", TIMES).content.decode()
    assert text.count("03:00 Europe/Berlin") == 3


def test_the_preview_says_what_is_wrong(as_operator):
    text = as_operator.post("/schedules/preview/", {"cron": "x", "time_zone": "y"}).content.decode()
    assert "Not a cron expression" in text
    assert "Unknown time zone" in text


def test_a_schedule_leads_to_what_it_started(as_operator, operator):
    schedule = make_schedule(operator)
    as_operator.post(reverse("schedules:run", args=[schedule.pk]))
    text = text_of(as_operator, f"/schedules/{schedule.pk}/")
    assert 'href="/letters/letter-1/"' in text
    assert "manual, otto" in text


def test_run_now_that_is_refused_says_why(as_operator, operator, room):
    room.problem = refusing()
    path = reverse("schedules:run", args=[make_schedule(operator).pk])
    assert "There is no paper." in as_operator.post(path, follow=True).content.decode()


def test_a_schedule_is_disabled_and_enabled(as_operator, operator):
    schedule = make_schedule(operator)
    path = reverse("schedules:set-enabled", args=[schedule.pk])
    for word, is_enabled in (("false", False), ("true", True)):
        as_operator.post(path, {"is_enabled": word})
        schedule.refresh_from_db()
        assert (schedule.is_enabled, schedule.next_at is not None) == (is_enabled, is_enabled)


def test_the_settings_change_times_and_not_what_is_started(as_operator, operator):
    schedule = make_schedule(operator)
    path = reverse("schedules:settings", args=[schedule.pk])
    assert "*/5 * * * *" in text_of(as_operator, path)
    assert as_operator.post(path, TIMES | {"kind": "x"}).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.kind) == ("0 3 * * *", KIND)


def test_a_schedule_is_deleted(as_operator, operator):
    schedule = make_schedule(operator)
    as_operator.post(reverse("schedules:delete", args=[schedule.pk]))
    assert not Schedule.objects.exists()


def test_a_viewer_sees_and_changes_nothing(sign_in, viewer, operator):
    client, schedule = sign_in(viewer), make_schedule(operator)
    text = text_of(client, f"/schedules/{schedule.pk}/")
    assert "Run now" not in text
    for name in ("run", "set-enabled", "delete", "settings"):
        assert client.post(reverse(f"schedules:{name}", args=[schedule.pk])).status_code == 403


def test_a_kind_that_is_not_registered_is_still_shown(as_operator, operator):
    schedule = make_schedule(operator, kind="gone")
    assert "cannot start jobs of this kind" in text_of(as_operator, f"/schedules/{schedule.pk}/")
