"""Every address of the URL configuration, asked by every kind of person, with real objects."""

import itertools

import pytest

from console.frame.security.access import can, can_anywhere
from tests.console.safety.needs import PUBLIC
from tests.console.safety.routes import EXPECTED, METHODS, all_routes
from tests.console.safety.walk import PEOPLE, ask, headers_of, objects_of, walk, was_refused
from tests.console.safety.world import (
    DARK,
    make_person,
    make_token,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROUTES = all_routes()
# Who asks every address by methods that are not declared, too; in `make live ROOM=safety` everybody does.
CURIOUS = {"anonymous", "admin", "admin's token for east and west"}
# Who reads no more than somebody else does whom `make test` lets read, and less than an administrator: these
# read in `make live ROOM=safety`.
NOT_READING = {
    "operator",
    "admin of east and west",
    "viewer, and operator of east and west",
    "token of a viewer",
    "revoked token",
    "token of a disabled person",
    "operator's token of an admin",
}
WALKS = [
    pytest.param(method, is_dark, who, id=f"{method}-{'dark' if is_dark else 'granted'}-{who}")
    for who, is_dark, method in itertools.product(PEOPLE, [False, True], METHODS)
    if method != "GET" or who not in NOT_READING
]


def test_every_route_is_declared():
    assert [route.name for route in ROUTES if route.name not in EXPECTED] == []


def test_every_declared_route_exists():
    assert set(EXPECTED) - {route.name for route in ROUTES} == set()


@pytest.mark.parametrize(("method", "is_dark", "who"), WALKS)
def test_who_may_ask_what(world, client, who, is_dark, method):
    assert walk(world, client, who, method, is_dark=is_dark, is_curious=who in CURIOUS) == []


@pytest.mark.parametrize("who", ["viewer of east and west", "admin's token for east and west"])
def test_nothing_of_an_invisible_cluster_is_in_any_answer(world, client, who):
    headers, objects = headers_of(who, world, client), objects_of(world, is_dark=False)
    told = []
    for route in ROUTES:
        path = route.path(objects)
        if "GET" not in EXPECTED[route.name] or EXPECTED[route.name]["GET"].where == PUBLIC:
            continue
        for asked in (path, f"{path}?format=csv", f"{path}?q={DARK}"):
            answer = client.get(asked, headers=headers)
            text = b"".join(answer.streaming_content if answer.streaming else [answer.content])
            text = (
                text.replace(b'value="dark"', b"").replace(b">Dark<", b"").replace(b"?q=dark", b"")
            )
            text = text.replace(b"q%3Ddark", b"").replace(b"q=dark", b"")
            if DARK.encode() in text and b"color-scheme" not in text:
                told.append(asked)
            if b"to dark" in text or b"dark.example" in text or b"/clusters/dark/" in text:
                told.append(asked)
    assert told == []


def test_an_invisible_cluster_looks_like_one_that_does_not_exist(world, client):
    client.force_login(make_person("eva", east="viewer"))
    for path in ("/clusters/{}/", "/clusters/{}/topics/", "/api/v1/clusters/{}/"):
        hidden, absent = (client.get(path.format(alias)) for alias in (DARK, "nowhere"))
        assert (hidden.status_code, absent.status_code) == (404, 404)
    hidden, absent = (client.get(f"/api/v1/topics/?cluster={alias}") for alias in (DARK, "nowhere"))
    assert (hidden.status_code, hidden.json()) == (absent.status_code, absent.json())


ODD = [
    "/clusters//east/",
    "/clusters/east//",
    "/clusters/east/..;/settings/",
    "/clusters/%2e%2e/clusters/east/",
    "/clusters/east/settings/../",
    "/CLUSTERS/EAST/",
    "//clusters/east/",
    "/clusters/east/.json",
    "/api/v1//clusters/east/",
    "/api/v1/clusters/east",
    "/api/v1/clusters/east.json",
    "/api/v1/clusters/east/?format=api",
    "/api/v1/./clusters/east/",
    "/api//v1/clusters/",
    "/api/v1/clusters/east/;/check/",
    "/people",
    "/people/;/",
    "/static/../people/",
    "/admin/",
    "/__debug__/",
]


@pytest.mark.parametrize("path", ODD)
@pytest.mark.parametrize("method", METHODS)
def test_an_odd_address_opens_nothing_to_outsiders(world, client, path, method):
    client.force_login(make_person("otto"))
    answer = ask(client, method, path, {})
    assert answer.status_code in {301, 302, 400, 403, 404, 405}
    if answer.status_code in {301, 302}:
        assert (
            was_refused(client.get(answer["Location"]))
            or client.get(answer["Location"]).status_code == 404
        )


@pytest.mark.parametrize(
    "header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_header_does_not_make_another_method(world, client, header, method):
    client.force_login(make_person("vera", "viewer"))
    path = (
        "/api/v1/clusters/east/?_method=DELETE" if header == "_method" else "/api/v1/clusters/east/"
    )
    client.generic(method, path, headers={header: "DELETE"})
    client.generic(method, f"/clusters/{world.east.alias}/delete/", headers={header: "POST"})
    world.east.refresh_from_db()
    assert world.east.alias == "east"


def test_lists_ask_as_many_questions_for_granted_people_however_many_clusters(world, client):
    from tests.console.making import count_queries, make_cluster

    person = make_person("eva", east="viewer")
    client.force_login(person)
    paths = ["/api/v1/clusters/", "/api/v1/flows/", "/api/v1/runs/", "/clusters/", "/replication/"]
    few = [count_queries(client, path) for path in paths]
    for number in range(5):
        cluster = make_cluster(f"more-{number}")
        person.cluster_grants.create(cluster=cluster, role="viewer")
    assert [count_queries(client, path) for path in paths] == few


def test_a_token_is_never_more_than_its_owner_at_the_time_of_use(world):
    owner = make_person("ada", "admin")
    token, _ = make_token(owner, "operator")
    owner.acting_token = token
    assert (can(owner, "operate"), can(owner, "administer")) == (True, False)
    owner.role = "viewer"
    assert (can(owner, "view"), can(owner, "operate")) == (True, False)
    owner.role = "none"
    assert not can_anywhere(owner, "view")
