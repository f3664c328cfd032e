"""Schedules over REST."""

import pytest

from console.schedules.models import Schedule
from tests.console.schedules.making import KIND, make_schedule

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("room")]
ROUTE = "/api/v1/schedules/"
JSON = "application/json"
BODY = {"name": "Letter", "kind": KIND, "arguments": {"to": "ada"}, "cron": "0 3 * * *"}


@pytest.fixture
def api(sign_in, operator):
    return sign_in(operator)


def test_a_schedule_is_made_read_changed_and_deleted(api):
    made = api.post(ROUTE, BODY, JSON)
    assert made.status_code == 201
    one = f"{ROUTE}{made.json()['id']}/"
    read = api.get(one).json()
    assert (read["created_by"], read["time_zone"], read["firings"]) == ("otto", "UTC", [])
    assert len(read["next_times"]) == 3
    changed = api.patch(one, {"is_enabled": False}, JSON).json()
    assert (changed["is_enabled"], changed["next_at"], changed["next_times"]) == (False, None, [])
    assert api.delete(one).status_code == 204
    assert api.get(one).status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"cron": "often"}, "cron"),
        ({"time_zone": "Mars"}, "time_zone"),
        ({"kind": "nothing"}, "kind"),
        ({"arguments": {}}, "arguments.to"),
        ({"arguments": {"to": {"deep": "a\0b"}}}, "arguments"),
        ({"name": ""}, "name"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_at_its_field(api, changed, field):
    answer = api.post(ROUTE, BODY | changed, JSON)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_the_list_can_be_filtered(api, operator):
    make_schedule(operator, name="on"), make_schedule(operator, name="off", is_enabled=False)
    names = [
        [row["name"] for row in api.get(f"{ROUTE}{query}").json()["results"]]
        for query in ("", "?is_enabled=false", "?kind=other", f"?kind={KIND}&is_enabled=true")
    ]
    assert names == [["off", "on"], ["off"], [], ["on"]]


def test_run_starts_it_once_for_one_key(api, operator, room):
    path = f"{ROUTE}{make_schedule(operator).pk}/run/"
    for _ in range(2):
        fired = api.post(path, {}, JSON, headers={"Idempotency-Key": "a-key-of-one-press"}).json()
    assert (fired["ref"], fired["by"], fired["due_at"]) == ("letter-1", "otto", None)
    assert len(room.started) == 1


def test_run_is_a_conflict_while_the_last_run_is_live(api, operator, room):
    path = f"{ROUTE}{make_schedule(operator).pk}/run/"
    api.post(path)
    room.is_going_on = True
    answer = api.post(path)
    assert (answer.status_code, answer.json()["code"]) == (409, "still_going_on")


def test_a_change_prepared_on_an_old_read_is_refused(api, operator):
    one = f"{ROUTE}{make_schedule(operator).pk}/"
    tag = api.get(one)["ETag"]
    assert api.patch(one, {"name": "b"}, JSON, headers={"If-Match": tag}).status_code == 200
    assert api.patch(one, {"name": "c"}, JSON, headers={"If-Match": tag}).status_code == 412
    assert Schedule.objects.get().name == "b"
