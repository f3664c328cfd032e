"""Every field of every form takes any text: nothing breaks, and what was typed stays on the page."""

from html import unescape

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.console.safety.page_forms import PageForm, forms_of
from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person
from tests.examples import examples

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ODD = [
    "\x00",
    "9" * 40,
    "9" * 5000,
    "²",
    "-1",
    "1e999",
    "a\nb\r\x1f",
    "2026-99-99T99:99",
    "%s {0} {{ x }}",
    "(",
    "<b>&'\"😀",
    "env:CROSSLOG_SECRET_NONE",
    "../../x",
]
OTHER_PAGES = ("/api/", "/metrics", "/login")
NOT_SENT = {"/logout/"}
# It may hold secrets: it is never sent back.
NOT_SENT_BACK = {("/replication/mirror-config/", "text")}


@pytest.fixture
def ada(client, world):
    """An administrator, and the forms of all pages that she sees in a world with something of everything."""
    objects = objects_of(world, is_dark=False)
    client.force_login(make_person("ada", "admin"))
    return client, every_form(client, objects)


def every_form(client, objects) -> list[PageForm]:
    found: dict[tuple, PageForm] = {}
    for route in all_routes():
        path = route.path(objects)
        if "GET" not in EXPECTED[route.name] or path.startswith(OTHER_PAGES):
            continue
        answer = client.get(path)
        if answer.status_code == 200 and "text/html" in answer["Content-Type"]:
            for form in forms_of(path, answer.content.decode()):
                found.setdefault((form.action, *sorted(form.kinds)), form)
    return [form for form in found.values() if form.action not in NOT_SENT]


def fields_of(forms: list[PageForm]) -> list[tuple[PageForm, str]]:
    return [(form, name) for form in forms for name in form.kinds]


def problem_with(client, form: PageForm, name: str, text: str) -> str:
    """Send a form with a text in one field and return what was wrong with the answer."""
    point = transaction.savepoint()
    answer = client.post(form.action, form.values | {name: text})
    transaction.savepoint_rollback(point)
    where = f"{form.action}, field {name}, {text[:40]!r}: {answer.status_code}"
    if answer.status_code >= 500:
        return where
    is_page = answer.status_code == 200 and (form.action, name) not in NOT_SENT_BACK
    if is_page and form.is_shown_again(name) and not is_on_page(text, answer):
        return f"{where}, and the text is gone"
    return ""


def is_on_page(text: str, answer) -> bool:
    """Whether the page holds the text; browsers and forms trim it and have one kind of line end."""
    page = unescape(answer.content.decode()).replace("\r\n", "\n")
    return text.replace("\r\n", "\n").strip() in page


def test_an_odd_text_in_any_field_breaks_nothing_and_stays_on_the_page(ada):
    """One world for all fields: every field gets one of the texts, the next field the next one."""
    client, forms = ada
    assert {"/clusters/new/", "/clusters/east/delete/", "/replication/new/"} <= {
        form.action for form in forms
    }
    wrong = [
        problem_with(client, form, name, ODD[number % len(ODD)])
        for number, (form, name) in enumerate(fields_of(forms))
    ]
    assert [text for text in wrong if text] == []


@settings(examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_in_any_field_breaks_nothing_and_stays_on_the_page(ada, data):
    client, forms = ada
    form, name = data.draw(st.sampled_from(fields_of(forms)))
    # Half a surrogate pair does not come through a browser.
    text = data.draw(st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"])))
    assert problem_with(client, form, name, text) == ""
