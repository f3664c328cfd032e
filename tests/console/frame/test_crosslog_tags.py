import html
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, RequestContext, Template
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone

VALUES = {
    "none": None,
    "zero": 0,
    "number": 1234567,
    "at": datetime(2026, 11, 21, 3, 8, 14, tzinfo=UTC),
    "later": datetime(2026, 11, 21, 4, 24, 14, tzinfo=UTC),
    "errors": {"alias": "taken"},
    "evil": '<script>"',
}


def draw(text: str, **values: object) -> str:
    request = RequestFactory().get("/topics/?q=orders&page=3")
    context = Context({"request": request, **VALUES, **values})
    return Template("{% load crosslog %}" + text).render(context).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{{ number|count }}", "1,234,567", id="count"),
        pytest.param("{{ none|count }}", "—", id="unknown count"),
        pytest.param("{{ missing|count }}", "—", id="missing variable"),
        pytest.param("{{ zero|count }}", "0", id="measured zero"),
        pytest.param("{{ 4100|span_ms }}", "4.1 s", id="span_ms"),
        pytest.param("{{ 61|span_s }}", "1 m 1 s", id="span_s"),
        pytest.param("{{ at|lasted:later }}", "1 h 16 m", id="lasted"),
        pytest.param("{{ none|lasted:later }}", "—", id="not begun"),
        pytest.param("{{ at|moment_text }}", "21 Nov 03:08:14", id="moment as text"),
        pytest.param("{{ 2048|bytes }}", "2 KiB", id="bytes"),
        pytest.param("{{ 0.5|rate }}", "0.5/s", id="rate"),
        pytest.param("{{ 0.992|percent }}", "99.2 %", id="percent"),
        pytest.param("{{ none|or_dash }}{{ ''|or_dash }}{{ zero|or_dash }}", "——0", id="or_dash"),
        pytest.param("{{ none|ago }}{{ none|moment }}", "——", id="no moment"),
        pytest.param(
            "{{ 'RUNNING'|severity }} {{ 'CAUGHT_UP'|spoken }}",
            "healthy Caught up",
            id="state words",
        ),
        pytest.param("{{ errors|lookup:'alias' }}", "taken", id="lookup"),
        pytest.param("{{ '15m'|range_word }}", "15 m", id="range_word"),
        pytest.param("{% query page=None %}", "?q=orders", id="query without a parameter"),
        pytest.param("{% query page=4 %}", "?q=orders&page=4", id="query with a changed one"),
    ],
)
def test_filter_or_tag(text, expected):
    assert draw(text).replace("&amp;", "&") == expected


def test_moment_is_a_time_element_in_utc():
    assert draw("{{ at|moment }}") == (
        '<time datetime="2026-11-21T03:08:14.000+00:00" title="2026-11-21 03:08:14 UTC" data-moment>21 Nov 03:08:14</time>'
    )


def test_ago_carries_the_exact_moment():
    text = draw("{{ at|ago }}", at=timezone.now() - timedelta(seconds=12))
    assert "data-ago>12 s ago</time>" in text


def test_state_has_word_icon_and_colour():
    text = draw("{% state 'warning' 'At min ISR' 'since 03:08' %}")
    assert 'class="state warning" title="since 03:08"' in text
    assert "<svg" in text
    assert text.endswith("At min ISR</span>")


def test_state_of_a_word_finds_its_severity():
    assert 'class="state warning"' in draw("{% state_of 'retrying' %}")


@pytest.mark.parametrize(
    "text", ["{% state 'ok' evil %}", "{% state 'ok' 'x' evil %}", "{% sparkline values evil %}"]
)
def test_nothing_is_written_unescaped(text):
    assert "<script>" not in draw(text, values=[1, 2])


def test_sparkline_says_in_words_what_it_draws():
    text = draw("{% sparkline values 'Lag' %}", values=[3, None, 14, 5])
    assert 'aria-label="Lag: now 5, lowest 3, highest 14"' in text
    assert text.count("M") == 2  # the gap starts a new line


def test_sparkline_without_a_sample_is_a_dash():
    assert "—" in draw("{% sparkline values %}", values=[None, None])


EVENT = datetime(2026, 11, 21, 3, 8, tzinfo=UTC)
FINDING = '{% include "components/_finding.html" with severity="warning" word="Lag" what="w" href=href since=since only %}'


@pytest.mark.parametrize(
    ("path", "href", "link"),
    [
        ("/", "/availability/east/runbooks/", "/availability/east/"),
        ("/replication/3/findings/", "", "/replication/3/"),
        ("/clusters/east/", "", None),
    ],
)
def test_a_finding_leads_to_the_minutes_before_it_where_a_page_shows_them(path, href, link):
    context = RequestContext(RequestFactory().get(path), {"href": href, "since": EVENT})
    text = html.unescape(Template(FINDING).render(context))
    query = "from=2026-11-21T03%3A03%3A00Z&to=2026-11-21T03%3A13%3A00Z"
    assert (f'href="{link}?{query}"' in text) == (link is not None)
    assert ("5 min before" in text) == (link is not None)


@pytest.mark.parametrize(
    ("call", "command"),
    [
        (
            "GET /api/v1/topics/?cluster=east&q=a",
            """curl -H "Authorization: Bearer $CROSSLOG_TOKEN" 'https://crosslog.example/api/v1/topics/?cluster=east&q=a'""",
        ),
        (
            "POST /api/v1/flows/",
            """curl -H "Authorization: Bearer $CROSSLOG_TOKEN" -X POST -H 'Content-Type: application/json' -d @BODY.json 'https://crosslog.example/api/v1/flows/'""",
        ),
    ],
)
def test_a_call_is_copied_as_a_command_with_the_host_of_the_request(settings, call, command):
    settings.ALLOWED_HOSTS = ["crosslog.example"]
    request = RequestFactory().get("/", secure=True, headers={"host": "crosslog.example"})
    context = RequestContext(request, {"call": call})
    text = Template("{% load crosslog %}{% runnable call %}").render(context)
    assert html.unescape(text) == command


def test_a_call_that_is_refused_with_a_token_has_nothing_to_copy():
    text = render_to_string(
        "components/_equivalents.html", {"api": "GET /api/v1/tokens/", "people_only": True}
    )
    assert "<code>GET /api/v1/tokens/</code>" in text
    assert "data-copy" not in text
