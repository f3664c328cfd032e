"""What another site sends with a signed-in person's cookies changes nothing, at whichever address."""

import pytest
from django.db import connection
from django.test import Client

from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person
from tests.console.safety.writes import noting_writes

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# A form of another site sends the first, a script of it may try the second.
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
OTHER_SITE = {"Origin": "https://evil.example"}


@pytest.fixture
def browser(world):
    """An administrator's browser that holds the cookie of our forms, and everything it could change."""
    client = Client(enforce_csrf_checks=True)
    objects = objects_of(world, is_dark=False)
    client.force_login(make_person("ada", "admin"))
    client.get("/account/tokens/")
    changes = [
        (method, route.path(objects))
        for route in all_routes()
        for method in EXPECTED[route.name]
        if method != "GET"
    ]
    assert {("POST", "/login/"), ("POST", "/logout/"), ("POST", "/api/v1/flows/")} <= set(changes)
    return client, changes


def token_of(client) -> dict[str, str]:
    return {"X-CSRFToken": client.cookies["crosslog_csrf"].value}


def let_through(client, changes, headers) -> list[str]:
    """Return the requests that were not refused, or wrote something all the same."""
    wrong = []
    for method, path in changes:
        for kind in (FORM, JSON) if path.startswith("/api/") else (FORM,):
            with noting_writes(connection) as written:
                answer = client.generic(method, path, b"", content_type=kind, headers=headers)
            if answer.status_code != 403 or written:
                wrong.append(f"{method} {path}, {kind}: {answer.status_code} {written}")
    return wrong


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no token"),
        pytest.param({"X-CSRFToken": "x" * 64}, id="a wrong token"),
        pytest.param({"Origin": "null"}, id="an origin that is hidden"),
    ],
)
def test_nothing_is_changed_without_the_token(browser, headers, caplog):
    caplog.set_level("ERROR", logger="django.security.csrf")
    assert let_through(*browser, headers) == []


def test_nothing_is_changed_from_another_origin_even_with_the_token(browser, caplog):
    caplog.set_level("ERROR", logger="django.security.csrf")
    assert let_through(*browser, OTHER_SITE | token_of(browser[0])) == []


def test_with_the_token_and_from_our_pages_a_change_is_made(browser):
    client, _ = browser
    body = b'{"name": "report", "role": "viewer", "days": 1}'
    headers = token_of(client) | {"Origin": "http://testserver"}
    answer = client.post("/api/v1/tokens/", body, content_type="application/json", headers=headers)
    assert answer.status_code == 201, answer.content


def test_a_browser_is_never_asked_for_a_password_that_it_would_keep_and_send_by_itself(client, db):
    """Only a challenge makes a browser keep a Basic password: other sites could use it then."""
    answer = client.get("/api/v1/clusters/")
    assert answer.status_code == 401
    assert "basic" not in answer["WWW-Authenticate"].lower()
