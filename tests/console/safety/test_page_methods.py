"""Every address of a page is asked with GET and HEAD: after a reload, a bookmark, a sign-in, by a probe."""

import pytest
from django.db import transaction
from django.urls import reverse

from tests.console.safety.needs import OPEN
from tests.console.safety.routes import EXPECTED, all_routes
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGES = [route for route in all_routes() if not route.name.startswith("api-")]


@pytest.fixture
def admin(client):
    client.force_login(make_person("ada", "admin"))
    return client


def ask(client, method, path):
    """Ask without keeping what the answer changes."""
    point = transaction.savepoint()
    answer = getattr(client, method)(path)
    transaction.savepoint_rollback(point)
    return answer


def test_reading_the_address_of_an_action_leads_to_the_page_above_it(world, admin):
    objects, wrong = objects_of(world, is_dark=False), []
    for route in PAGES:
        path = route.path(objects)
        if "GET" in EXPECTED[route.name] or route.name == "logout":
            continue
        answer = admin.get(path)
        above = answer.get("Location", "")
        is_above = path.startswith(above) and above.count("/") > 1
        if not (answer.status_code == 302 and is_above and admin.get(above).status_code == 200):
            wrong.append(f"{path}: {answer.status_code} {above}")
    assert wrong == []


def test_head_answers_as_get_does_on_every_page(world, admin):
    objects, wrong = objects_of(world, is_dark=False), []
    for route in PAGES:
        path = route.path(objects)
        read, head = ask(admin, "get", path), ask(admin, "head", path)
        is_same = (read.status_code, read.get("Location")) == (
            head.status_code,
            head.get("Location"),
        )
        if not is_same or head.content:
            wrong.append(f"{path}: GET {read.status_code}, HEAD {head.status_code}")
    assert wrong == []


def test_head_answers_as_get_does_on_every_route_of_the_api(world, admin):
    objects, wrong = objects_of(world, is_dark=False), []
    for route in all_routes():
        need = EXPECTED[route.name].get("GET")
        if route in PAGES or need is None or need is OPEN:
            continue
        path = route.path(objects)
        read, head = ask(admin, "get", path), ask(admin, "head", path)
        if read.status_code != head.status_code:
            wrong.append(f"{path}: GET {read.status_code}, HEAD {head.status_code}")
    assert wrong == []


@pytest.mark.parametrize(
    ("action", "page"),
    [
        ("restart", "/replication/{flow}/control/"),
        ("start", "/replication/{flow}/"),
        ("pause", "/replication/{flow}/"),
        ("accept-topics", "/replication/{flow}/"),
    ],
)
def test_an_action_of_a_flow_leads_back_to_where_its_button_stands(world, admin, action, page):
    answer = admin.get(reverse(f"replication:{action}", args=[world.flow.pk]))
    assert answer["Location"] == page.format(flow=world.flow.pk)


def test_an_action_that_was_sent_after_the_session_ended_leads_to_its_page_after_the_sign_in(
    world, client
):
    answer = client.post(f"/replication/{world.flow.pk}/start/")
    assert answer["Location"] == f"/login/?next=/replication/{world.flow.pk}/start/"
    client.force_login(make_person("ada", "admin"))
    answer = client.get(f"/replication/{world.flow.pk}/start/", follow=True)
    assert answer.redirect_chain == [(f"/replication/{world.flow.pk}/", 302)]
    assert answer.status_code == 200


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_what_no_page_does_stays_refused(world, admin, method):
    assert getattr(admin, method)(f"/replication/{world.flow.pk}/start/").status_code == 405
