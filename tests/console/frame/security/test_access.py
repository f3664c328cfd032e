from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser

from console.frame.security.access import action_of, can

pytestmark = pytest.mark.urls("tests.gallery.urls")
ACTIONS = ("view", "operate", "administer")


def make_user(role: str, **fields):
    return get_user_model()(username=role, role=role, **fields)


@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        pytest.param(AnonymousUser(), (), id="anonymous"),
        pytest.param(make_user("viewer"), ("view",), id="viewer"),
        pytest.param(make_user("operator"), ("view", "operate"), id="operator"),
        pytest.param(make_user("admin"), ACTIONS, id="admin"),
        pytest.param(make_user("viewer", is_superuser=True), ACTIONS, id="superuser"),
        pytest.param(make_user("admin", is_active=False), (), id="switched off"),
        pytest.param(make_user("emperor"), (), id="unknown role"),
        pytest.param(None, (), id="anonymous"),
    ],
)
def test_what_a_person_may_do(user, allowed):
    assert tuple(action for action in ACTIONS if can(user, action)) == allowed


@pytest.mark.parametrize(
    ("declared", "name", "method", "action"),
    [
        pytest.param({}, "list", "GET", "view", id="reads view"),
        pytest.param({}, "create", "POST", "operate", id="writes operate"),
        pytest.param(
            {"write": "administer"}, "create", "POST", "administer", id="declared for all writes"
        ),
        pytest.param({"write": "administer"}, "list", "GET", "view", id="reads stay"),
        pytest.param(
            {"write": "administer", "check": "operate"},
            "check",
            "POST",
            "operate",
            id="declared for one action",
        ),
    ],
)
def test_what_an_api_request_needs(declared, name, method, action):
    assert action_of(SimpleNamespace(access=declared, action=name), method) == action


def test_anonymous_people_are_sent_to_the_login(client):
    assert client.get("/operate/").url == "/login/?next=/operate/"


def test_a_panel_of_somebody_whose_session_ended_sends_the_whole_page_to_the_login(client):
    response = client.get("/table/", headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (401, "/login/")


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 200), ("admin", 200)])
def test_a_page_asks_for_the_role(client, role, status):
    client.force_login(get_user_model().objects.create_user("ana", role=role))
    response = client.get("/operate/")
    assert response.status_code == status
    assert ("This needs the role operator" in response.content.decode()) is (status == 403)
