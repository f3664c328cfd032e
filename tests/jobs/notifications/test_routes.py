"""Which incidents are due to be sent, by which route, in which message."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.notifications.message import Event
from jobs.notifications.routes import (
    MOST_SINGLE,
    OPENED_EVERY,
    Due,
    GroupBy,
    OpenIncident,
    Route,
    Sent,
    due_messages,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)  # a Saturday
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
OPS, PAGER = 1, 2
ROUTE = Route(id=1, channels=(OPS,))
OPENED = OpenIncident(
    1, "group_stuck", 4, "open", NOW, "orders", "Consumer group orders is stuck", (3,)
)
TOLD = Sent(OPS, 1, 1, "cluster/1/3", 4, NOW, NOW)


def events(routes, incidents, sent=(), now=NOW):
    due = due_messages(routes, incidents, sent, now)
    return [(one.event.value, one.channel, one.incidents) for one in due]


def many(count, **fields):
    return [replace(OPENED, id=number, **fields) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("condition", "is_sent"),
    [
        pytest.param({}, True, id="no condition"),
        pytest.param({"rank": 4}, True, id="its severity"),
        pytest.param({"rank": 5}, False, id="a higher severity"),
        pytest.param({"checks": ("group_stuck",)}, True, id="its check"),
        pytest.param({"checks": ("broker_down", "group_*")}, True, id="a glob of checks"),
        pytest.param({"checks": ("group",)}, False, id="the begin of its check"),
        pytest.param({"cluster": 3}, True, id="its cluster"),
        pytest.param({"cluster": 4}, False, id="another cluster"),
        pytest.param({"subject": "ord*"}, True, id="its subject"),
        pytest.param({"subject": "*is stuck"}, True, id="its title"),
        pytest.param({"subject": "order"}, False, id="a part of its subject"),
        pytest.param({"subject": "payments*"}, False, id="nothing"),
        pytest.param({"is_enabled": False}, False, id="disabled"),
        pytest.param({"channels": ()}, False, id="no channel"),
        pytest.param({"checks": ("group_*",), "cluster": 4}, False, id="one of two conditions"),
    ],
)
def test_a_route_sends_what_fits_all_its_conditions(condition, is_sent):
    assert bool(events([replace(ROUTE, **condition)], [OPENED])) is is_sent


@pytest.mark.parametrize("cluster", [3, 5], ids=["source", "target"])
def test_an_incident_of_a_flow_concerns_both_clusters(cluster):
    flow = replace(OPENED, clusters=(3, 5))
    assert events([replace(ROUTE, cluster=cluster)], [flow]) == [("opened", OPS, (1,))]


@pytest.mark.parametrize(
    ("at", "fields", "is_active"),
    [
        pytest.param("2026-11-28T12:00", {"days": {5}}, True, id="its day"),
        pytest.param("2026-11-28T12:00", {"days": {0, 1, 2, 3, 4}}, False, id="weekend"),
        pytest.param("2026-11-28T08:00", {"hours": (8, 18)}, True, id="begin"),
        pytest.param("2026-11-28T18:00", {"hours": (8, 18)}, False, id="end"),
        pytest.param("2026-11-28T23:00", {"hours": (22, 6)}, True, id="before midnight"),
        pytest.param("2026-11-29T05:59", {"hours": (22, 6)}, True, id="after midnight"),
        pytest.param("2026-11-29T06:00", {"hours": (22, 6)}, False, id="end after midnight"),
        pytest.param(
            "2026-11-29T03:00", {"hours": (22, 6), "days": {5}}, True, id="the night of Saturday"
        ),
        pytest.param(
            "2026-11-28T03:00", {"hours": (22, 6), "days": {5}}, False, id="the night of Friday"
        ),
        pytest.param("2026-11-30T02:00", {"hours": (8, 8), "days": {6}}, True, id="24 h from 8"),
        pytest.param("2026-10-24T06:30", {"hours": (8, 9), "zone": 1}, True, id="summer time"),
        pytest.param("2026-10-26T06:30", {"hours": (8, 9), "zone": 1}, False, id="winter time"),
        pytest.param("2026-10-26T07:30", {"hours": (8, 9), "zone": 1}, True, id="an hour later"),
        pytest.param("2026-03-29T01:30", {"hours": (2, 3), "zone": 1}, False, id="skipped hour"),
        pytest.param("2026-11-29T23:30", {"days": {0}, "zone": 1}, True, id="Monday in Berlin"),
    ],
)
def test_a_route_is_active_by_the_clocks_of_its_zone(at, fields, is_active):
    starts, ends = fields.get("hours", (None, None))
    route = replace(
        ROUTE,
        days=frozenset(fields.get("days", range(7))),
        starts=None if starts is None else time(starts),
        ends=None if ends is None else time(ends),
        time_zone="Europe/Berlin" if "zone" in fields else "UTC",
    )
    assert route.is_active(datetime.fromisoformat(at).replace(tzinfo=UTC)) is is_active


def test_an_incident_waits_for_the_time_of_its_route():
    route = replace(ROUTE, starts=time(14), ends=time(15))
    assert events([route], [OPENED]) == []
    assert events([route], [OPENED], now=NOW + 2 * HOUR) == [("opened", OPS, (1,))]


@pytest.mark.parametrize(
    ("state", "is_sent"), [("open", True), ("acknowledged", False), ("silenced", False)]
)
def test_only_what_waits_for_people_is_sent(state, is_sent):
    assert bool(events([ROUTE], [replace(OPENED, state=state)])) is is_sent


@pytest.mark.parametrize(
    ("group_by", "groups"),
    [
        ("incident", ["incident/1/1", "incident/1/2", "incident/1/3"]),
        ("check", ["check/1/group_stuck", "check/1/flow_late"]),
        ("cluster", ["cluster/1/3", "cluster/1/3,5"]),
        ("all", ["all/1/"]),
    ],
)
def test_incidents_of_a_group_are_one_message(group_by, groups):
    rows = [*many(2), replace(OPENED, id=3, check="flow_late", clusters=(5, 3))]
    due = due_messages([replace(ROUTE, group_by=GroupBy(group_by))], rows, [], NOW)
    assert [one.group for one in due] == groups
    assert sorted(pk for one in due for pk in one.incidents) == [1, 2, 3]


def test_a_message_waits_for_more_incidents_of_its_group():
    route = replace(ROUTE, wait_s=10)
    rows = [OPENED, replace(OPENED, id=2, opened_at=NOW + 9 * SECOND)]
    assert events([route], rows, now=NOW + 9 * SECOND) == []
    assert events([route], rows, now=NOW + 10 * SECOND) == [("opened", OPS, (1, 2))]


def test_the_next_message_of_a_group_waits_five_minutes():
    second = replace(OPENED, id=2, opened_at=NOW + SECOND)
    soon, later = NOW + OPENED_EVERY - SECOND, NOW + OPENED_EVERY
    assert events([ROUTE], [OPENED, second], [TOLD], soon) == []
    assert events([ROUTE], [OPENED, second], [TOLD], later) == [("opened", OPS, (2,))]
    single = replace(ROUTE, group_by=GroupBy.INCIDENT)
    assert events([single], [OPENED, second], [TOLD], soon) == [("opened", OPS, (2,))]


def test_a_storm_of_single_incidents_is_one_message():
    route = replace(ROUTE, group_by=GroupBy.INCIDENT)
    assert len(events([route], many(MOST_SINGLE))) == MOST_SINGLE
    due = due_messages([route], many(10_000), [], NOW)
    assert due == [Due(Event.OPENED, OPS, 1, "incident/1/*", tuple(range(1, 10_001)))]


def test_later_messages_are_of_the_groups_that_opened():
    """An alert of a service is found by its group."""
    rows = many(30)
    route = replace(ROUTE, group_by=GroupBy.INCIDENT, repeat_s=60)
    single = [replace(TOLD, incident=one.id, group=f"incident/1/{one.id}") for one in rows]
    storm = [replace(one, group="incident/1/*") for one in single]
    for sent, count in ((single, 30), (storm, 1)):
        assert len(events([route], rows, sent, NOW + MINUTE)) == count
        assert len(events([route], [], [replace(one, is_over=True) for one in sent])) == count


def test_two_routes_send_an_incident_to_a_channel_once():
    routes = [
        replace(ROUTE, wait_s=60, channels=(OPS, PAGER)),
        replace(ROUTE, id=2, group_by=GroupBy.ALL),
    ]
    assert events(routes, [OPENED]) == [("opened", OPS, (1,))]
    due = due_messages(routes, [OPENED], [TOLD], NOW + MINUTE)
    assert [(one.channel, one.route) for one in due] == [(PAGER, 1)]


@pytest.mark.parametrize(
    ("state", "rank", "is_sent"),
    [
        pytest.param("open", 4, True, id="worse"),
        pytest.param("acknowledged", 4, True, id="worse and acknowledged"),
        pytest.param("silenced", 4, False, id="worse and silenced"),
        pytest.param("open", 3, False, id="the same"),
        pytest.param("open", 2, False, id="better"),
    ],
)
def test_what_became_worse_than_the_channel_knows_is_sent(state, rank, is_sent):
    row = replace(OPENED, state=state, rank=rank)
    found = events([ROUTE], [row], [replace(TOLD, rank=3)])
    assert found == ([("worse", OPS, (1,))] if is_sent else [])


@pytest.mark.parametrize(
    ("state", "repeat_s", "after", "is_sent"),
    [
        pytest.param("open", 3600, HOUR, True, id="after its time"),
        pytest.param("open", 3600, HOUR - SECOND, False, id="before its time"),
        pytest.param("open", 0, 99 * HOUR, False, id="a route without reminders"),
        pytest.param("acknowledged", 3600, HOUR, False, id="acknowledged"),
        pytest.param("silenced", 3600, HOUR, False, id="silenced"),
        pytest.param("open", 3600, -24 * HOUR, False, id="clock set back"),
        pytest.param("open", 3600, 24 * HOUR, True, id="clock set forward"),
    ],
)
def test_reminders_come_until_somebody_acknowledges(state, repeat_s, after, is_sent):
    route = replace(ROUTE, repeat_s=repeat_s)
    found = events([route], [replace(OPENED, state=state)], [TOLD], NOW + after)
    assert found == ([("reminder", OPS, (1,))] if is_sent else [])


@pytest.mark.parametrize(
    ("routes", "is_sent"),
    [
        pytest.param([ROUTE], True, id="its route"),
        pytest.param([replace(ROUTE, sends_resolved=False)], False, id="not wanted"),
        pytest.param([replace(ROUTE, is_enabled=False)], True, id="disabled"),
        pytest.param([], True, id="removed"),
        pytest.param([replace(ROUTE, days=frozenset({0}))], True, id="another day"),
        pytest.param([replace(ROUTE, subject="payments")], True, id="changed since"),
    ],
)
def test_a_channel_that_knows_of_an_incident_is_sent_its_end(routes, is_sent):
    over = [replace(TOLD, incident=number, is_over=True) for number in (2, 1)]
    assert events(routes, [], over) == ([("resolved", OPS, (1, 2))] if is_sent else [])


def test_what_was_never_sent_is_not_resolved():
    assert events([ROUTE], [], [TOLD]) == []


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-90_000, 90_000), st.booleans()), min_size=1, max_size=25),
    st.sampled_from(GroupBy),
    st.integers(0, 600),
)
def test_a_channel_is_sent_each_incident_once_whatever_the_clock_shows(steps, group_by, wait_s):
    routes = [
        replace(ROUTE, channels=(OPS, PAGER), group_by=group_by, wait_s=wait_s),
        replace(ROUTE, id=2, rank=3),
    ]
    rows, sent, opened = list[OpenIncident](), list[Sent](), list[tuple[int, int]]()
    now = NOW
    for shift_s, is_new in steps:
        now += shift_s * SECOND
        if is_new:
            rows.append(replace(OPENED, id=len(rows) + 1, opened_at=now, clusters=(len(rows) % 2,)))
        opened += send(routes, rows, sent, now)
    moments = [now, *(row.opened_at for row in rows), *(one.first_at for one in sent)]
    latest = max(moments) + 600 * SECOND
    opened += send(routes, rows, sent, latest)
    assert sorted(opened) == sorted((one, row.id) for one in (OPS, PAGER) for row in rows)


def send(routes, rows, sent, now):
    """Return the channels and incidents of one round, and add them to what was sent."""
    due = due_messages(routes, rows, sent, now)
    assert {one.event for one in due} <= {Event.OPENED}
    found = [(one.channel, one.group, pk) for one in due for pk in one.incidents]
    sent += [Sent(channel, pk, 1, group, 4, now, now) for channel, group, pk in found]
    return [(channel, pk) for channel, _, pk in found]


def test_ten_thousand_incidents_that_ten_routes_match_are_each_sent_once():
    routes = [replace(ROUTE, id=number, subject=f"*-{number}*") for number in range(10)]
    rows = [
        replace(OPENED, id=number, subject=f"topic-{number}", title=f"Topic topic-{number} is late")
        for number in range(10_000)
    ]
    due = due_messages(routes, rows, [], NOW)
    assert sorted(pk for one in due for pk in one.incidents) == list(range(10_000))
