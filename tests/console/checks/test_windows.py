"""Maintenance windows: validation, rights, times."""

from datetime import UTC, datetime, timedelta

import pytest

from console.checks import queries
from console.checks.windows import read_window
from console.findings.models import MaintenanceWindow
from jobs.cluster.errors import InvalidFields
from tests.console.checks.making import NOW, make_window
from tests.console.making import make_cluster
from tests.console.safety.world import make_person

URL = "/api/v1/maintenance-windows/"
LOCAL = datetime(2027, 3, 28, 2, 30)  # noqa: DTZ001  a local time
HOUR = timedelta(hours=1)


def values(**more):
    given = {"title": "Update", "starts_at": NOW + HOUR, "duration_s": 3600, **more}
    return {name: value for name, value in given.items() if value is not None}


def test_a_time_without_offset_is_one_of_the_zone():
    row = read_window(values(starts_at=LOCAL, time_zone="America/New_York"), NOW)
    assert row.starts_at == datetime(2027, 3, 28, 6, 30, tzinfo=UTC)


def test_an_end_gives_the_duration():
    row = read_window(values(duration_s=None, ends_at=NOW + 3 * HOUR), NOW)
    assert row.duration_s == 7200


@pytest.mark.parametrize(
    ("more", "field"),
    [
        pytest.param({"title": ""}, "title", id="no title"),
        pytest.param({"starts_at": None}, "starts_at", id="no start"),
        pytest.param({"starts_at": NOW - 3 * HOUR}, "starts_at", id="over"),
        pytest.param(
            {"starts_at": LOCAL, "time_zone": "Europe/Berlin"}, "starts_at", id="skipped time"
        ),
        pytest.param({"starts_at": datetime(1, 1, 1, tzinfo=UTC)}, "starts_at", id="year 1"),
        pytest.param(
            {"starts_at": datetime(9999, 12, 31, tzinfo=UTC)}, "starts_at", id="year 9999"
        ),
        pytest.param({"duration_s": 59}, "duration_s", id="short"),
        pytest.param({"duration_s": 10**400}, "duration_s", id="long"),
        pytest.param({"duration_s": True}, "duration_s", id="boolean"),
        pytest.param({"duration_s": None}, "ends_at", id="neither end nor duration"),
        pytest.param({"ends_at": NOW + 2 * HOUR}, "ends_at", id="end and duration"),
        pytest.param({"duration_s": None, "ends_at": NOW}, "ends_at", id="end before start"),
        pytest.param({"time_zone": "Mars/Base"}, "time_zone", id="no zone"),
        pytest.param({"time_zone": "../../etc/passwd"}, "time_zone", id="a path"),
        pytest.param({"rrule": "FREQ=SECONDLY"}, "rrule", id="every second"),
        pytest.param({"rrule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "rrule", id="never"),
        pytest.param({"rrule": "FREQ=DAILY;UNTIL=20200101"}, "rrule", id="until before"),
    ],
)
def test_a_window_that_cannot_be_is_refused_at_its_field(more, field):
    with pytest.raises(InvalidFields) as refused:
        read_window(values(**more), NOW)
    assert set(refused.value.errors) == {field}


@pytest.mark.parametrize(
    ("now", "until", "first"),
    [
        pytest.param(NOW - HOUR, None, NOW, id="before"),
        pytest.param(NOW, NOW + HOUR, NOW, id="at its start"),
        pytest.param(NOW + HOUR, None, NOW + timedelta(days=7), id="at its end"),
        pytest.param(
            NOW + timedelta(days=7.01),
            NOW + timedelta(days=7) + HOUR,
            NOW + timedelta(days=7),
            id="again",
        ),
    ],
)
def test_a_window_is_active_from_each_start_to_its_end(now, until, first):
    row = MaintenanceWindow(title="x", starts_at=NOW, duration_s=3600, rrule="FREQ=WEEKLY")
    assert queries.active_until(row, now) == until
    assert queries.list_starts(row, now)[0] == first
    assert len(queries.list_starts(row, now)) == queries.NEXT_TIMES


@pytest.mark.parametrize(
    ("more", "field"),
    [
        pytest.param({"rrule": "FREQ=DAILY;COUNT=999999999"}, "rrule", id="count"),
        pytest.param({"rrule": "FREQ=DAILY;INTERVAL=999999999"}, "rrule", id="interval"),
        pytest.param(
            {"rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;BYDAY=MO,TU,WE"}, "rrule", id="never"
        ),
        pytest.param({"rrule": "FREQ=DAILY;" + "BYDAY=MO," * 2000}, "rrule", id="long"),
        pytest.param({"title": "x" * 100_000}, "title", id="huge title"),
        pytest.param({"duration_s": "1e400"}, "duration_s", id="1e400"),
        pytest.param({"duration_s": True}, "duration_s", id="boolean"),
        pytest.param({"cluster": "gone"}, "cluster", id="removed cluster"),
        pytest.param({"created_by": "eva"}, "created_by", id="shown only"),
    ],
)
def test_a_body_that_cannot_be_is_refused_at_its_field(sign_in, admin, east, more, field):
    answer = post(sign_in(admin), **more)
    assert (answer.status_code, set(answer.json()["fields"])) == (400, {field})


@pytest.fixture
def east(db):
    make_cluster("dark")
    return make_cluster("east")


def post(client, **more):
    body = {"title": "Update", "starts_at": "2099-12-01T22:00:00Z", "duration_s": 3600} | more
    return client.post(URL, body, "application/json")


def test_a_window_is_created_shown_and_removed(sign_in, admin, east):
    client = sign_in(admin)
    answer = post(client, cluster="east", rrule="FREQ=WEEKLY;COUNT=2")
    shown = answer.json()
    assert (answer.status_code, shown["cluster"], shown["active_until"]) == (201, "east", None)
    assert shown["next_starts"] == ["2099-12-01T22:00:00Z", "2099-12-08T22:00:00Z"]
    assert "Update" in client.get("/checks/maintenance/").content.decode()
    assert client.delete(f"{URL}{shown['id']}/").status_code == 204
    assert client.get(URL).json()["results"] == []


@pytest.mark.parametrize(
    ("role", "granted", "cluster", "status"),
    [
        ("none", "operator", "east", 201),
        ("none", "operator", None, 403),
        ("none", "operator", "dark", 400),
        ("none", "viewer", "east", 403),
        ("operator", "operator", None, 403),
        ("admin", "admin", None, 201),
    ],
)
def test_a_window_needs_the_right_where_it_holds(client, east, role, granted, cluster, status):
    client.force_login(make_person("eva", role, east=granted))
    assert post(client, cluster=cluster).status_code == status


def test_a_window_of_an_invisible_cluster_is_not_shown(client, east):
    make_window(title="hidden one", cluster=east), make_window(title="open one")
    make_cluster("west")
    client.force_login(make_person("eva", west="viewer"))
    assert [one["title"] for one in client.get(URL).json()["results"]] == ["open one"]
    page = client.get("/checks/maintenance/").content.decode()
    assert "open one" in page
    assert "hidden one" not in page


def test_the_preview_shows_the_next_times_in_the_zone(sign_in, admin, east):
    typed = {
        "starts_at": "2099-12-01T22:00",
        "duration_s": "3600",
        "time_zone": "Europe/Berlin",
        "rrule": "FREQ=DAILY",
    }
    html = sign_in(admin).post("/checks/maintenance/preview/", typed).content.decode()
    assert "Tue 01 Dec 2099 22:00 Europe/Berlin" in html
    assert html.count("<li>") == 5


def test_the_preview_of_a_wrong_zone_and_rule_names_both_and_has_no_times(sign_in, admin, east):
    typed = {"starts_at": "2099-12-01T22:00", "duration_s": 3600, "time_zone": "Mars", "rrule": "x"}
    html = sign_in(admin).post("/checks/maintenance/preview/", typed).content.decode()
    assert "Unknown time zone" in html
    assert "FREQ is one of" in html
    assert "<ol>" not in html


def test_a_refused_window_keeps_what_was_typed(sign_in, admin, east):
    typed = {
        "title": "Night",
        "starts_at": "2099-12-01T22:00",
        "rrule": "FREQ=MINUTELY",
        "time_zone": "Mars",
    }
    html = sign_in(admin).post("/checks/maintenance/new/", typed).content.decode()
    for text in (
        "Night",
        "2099-12-01T22:00",
        "FREQ=MINUTELY",
        "Mars",
        "Unknown time zone",
        "FREQ is one of",
    ):
        assert text in html, text
    assert not MaintenanceWindow.objects.exists()


def test_the_page_creates_a_window(sign_in, admin, east):
    typed = {
        "title": "Night",
        "starts_at": "2099-12-01T22:00",
        "ends_at": "2099-12-01T23:00",
        "time_zone": "UTC",
    }
    assert sign_in(admin).post("/checks/maintenance/new/", typed).status_code == 302
    assert MaintenanceWindow.objects.get().duration_s == 3600
