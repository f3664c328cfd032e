from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    TimelineRow,
    draw_timeline,
    in_order,
)
from console.frame.pages.timerange import TimeRange
from jobs.severity import Severity

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
HOUR = TimeRange(NOW - timedelta(hours=1), NOW, "1h")


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def segment(start, end=None, word="Running", severity=Severity.HEALTHY, **more):
    until = None if end is None else ago(end)
    return StateInterval(word, severity, ago(start), until, **more)


def draw(*segments, time_range=HOUR, events=()):
    return draw_timeline([TimelineRow("State", segments)], time_range, NOW, events)


def render(lanes) -> str:
    context = {"id": "states", "title": "What was it doing?", "lanes": lanes, "path": "/flows/1/"}
    return render_to_string("components/_lanes.html", context)


@pytest.mark.parametrize(
    ("start", "end", "left", "width"),
    [
        pytest.param(45, 15, "25.000%", "50.000%", id="inside"),
        pytest.param(90, 30, "0.000%", "50.000%", id="began before"),
        pytest.param(30, None, "50.000%", "50.000%", id="ongoing"),
        pytest.param(30, 29.99, "50.000%", "0.350%", id="a moment is still seen"),
        pytest.param(0.01, None, "99.650%", "0.350%", id="a moment ago stays in the picture"),
    ],
)
def test_a_bar_is_placed_by_its_time(start, end, left, width):
    bar = draw(segment(start, end)).rows[0].bars[0]
    assert (bar.left, bar.width) == (left, width)


def test_what_lies_outside_the_time_range_is_not_drawn():
    assert draw(segment(120, 61)).is_empty


def test_nothing_is_drawn_of_the_future():
    ahead = TimeRange(NOW - timedelta(hours=1), NOW + timedelta(hours=1))
    assert draw(segment(60), time_range=ahead).rows[0].bars[0].width == "50.000%"


def test_lanes_stand_below_each_other():
    lanes = draw_timeline([TimelineRow(name, [segment(9)]) for name in ("1", "2")], HOUR, NOW)
    first, second = lanes.rows
    assert second.top - first.top == 30
    assert lanes.height > second.bar_top + 20


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        (timedelta(hours=1), ["03:10", "03:20", "03:30", "03:40", "03:50"]),
        (timedelta(minutes=1), ["03:59:10", "03:59:20", "03:59:30", "03:59:40", "03:59:50"]),
        (timedelta(days=7), ["15 Nov", "16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov"]),
    ],
    ids=str,
)
def test_times_below_the_lanes_are_round(span, texts):
    ticks = draw(segment(1), time_range=TimeRange(NOW - span, NOW)).ticks
    assert [tick.text for tick in ticks] == texts


def test_zoom_shows_the_bar_with_a_little_around_it():
    bar = draw(segment(40, 20)).rows[0].bars[0]
    assert bar.zoom == {"from": "2026-11-21T03:19:00Z", "to": "2026-11-21T03:41:00Z"}


def test_every_bar_can_be_reached_and_says_what_it_is():
    html = render(
        draw(segment(40, 20, href="/runs/1/"), segment(20, word="<b>", severity="critical"))
    )
    picture = ET.fromstring(html[html.index("<svg") : html.index('<ul class="lanes__leg')])
    bars = picture.findall("a")
    assert bars[0].get("href") == "/runs/1/"
    assert bars[1].get("tabindex") == "0"
    titles = [" ".join(bar.find("title").text.replace("\xa0", " ").split()) for bar in bars]
    assert titles == [
        "State: Running, 20 m, from 21 Nov 03:20:00 to 21 Nov 03:40:00 UTC",
        "State: <b>, 20 m, from 21 Nov 03:40:00 to 21 Nov 04:00:00 UTC, still",
    ]


def test_the_same_stands_in_a_table_with_links_that_zoom():
    html = render(draw(segment(40, 20, detail="The driver was killed.")))
    table = html[html.index("<table>") :]
    assert "The driver was killed." in table
    assert "/flows/1/?from=2026-11-21T03%3A19%3A00Z&amp;to=2026-11-21T03%3A41%3A00Z" in table


def test_nothing_known_is_said_in_words():
    assert "Nothing is known of this time range." in render(draw())


def test_the_picture_needs_no_inline_style():
    assert "style=" not in render(draw(segment(40), events=[Event(ago(30), "Election", "1 → 2")]))


def test_events_are_marks_through_all_lanes():
    lanes = draw(segment(60), events=[Event(ago(30), "Election", "1 → 2"), Event(ago(90), "x", "")])
    assert [(mark.left, mark.event.label) for mark in lanes.marks] == [("50.000%", "1 → 2")]
    assert "1 → 2, 21 Nov 03:30:00 UTC" in render(lanes)


def test_an_event_is_answered_with_what_a_chart_needs():
    event = Event(ago(0), "Election", "leader 1 → 2", Severity.CRITICAL, "/quorum/")
    assert event.to_mapping() == {
        "at": int(NOW.timestamp()),
        "kind": "Election",
        "label": "leader 1 → 2",
        "severity": "critical",
        "url": "/quorum/",
    }


def test_the_newest_events_are_kept_and_told_in_order():
    events = [Event(ago(minutes), "x", str(minutes)) for minutes in (1, 3, 2)]
    assert [event.label for event in in_order(events, 2)] == ["2", "1"]
