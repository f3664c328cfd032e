"""Every address of the URL configuration, asked by every kind of person, with real objects."""

import pytest
from django.db import transaction

from console.frame.security.access import can, can_anywhere
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.safety.routes import (
    ANYWHERE,
    EXPECTED,
    HERE,
    METHODS,
    MINE,
    MINE_ALONE,
    OPEN,
    OWN,
    PUBLIC,
    SOURCE,
    Need,
    all_routes,
)
from tests.console.safety.world import (
    DARK,
    bearer,
    make_person,
    make_token,
    promotion_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROUTES = all_routes()
LEVELS = {"view": 1, "operate": 2, "administer": 3}
# Everybody's level everywhere, and on east and west.
PEOPLE = {
    "anonymous": (-1, -1),
    "expired token": (-1, -1),
    "outsider": (0, 0),
    "viewer": (1, 1),
    "operator": (2, 2),
    "admin": (3, 3),
    "viewer of east and west": (0, 1),
    "operator of east and west": (0, 2),
    "admin of east and west": (0, 3),
    "viewer, and operator of east and west": (1, 2),
    "token of a viewer": (1, 1),
    "admin's token for east and west": (0, 3),
}
# Who asks every address by methods that nobody declared, too; in the campaign `access` everybody does.
CURIOUS = {"anonymous", "admin", "admin's token for east and west"}
# Who reads no more than somebody else does whom `make test` lets read, and less than an administrator.
NOT_READING = {
    "operator",
    "admin of east and west",
    "viewer, and operator of east and west",
    "token of a viewer",
}
TOKENS = {"expired token", "token of a viewer", "admin's token for east and west"}


def test_every_route_is_declared():
    assert [route.name for route in ROUTES if route.name not in EXPECTED] == []


def test_every_declared_route_exists():
    assert set(EXPECTED) - {route.name for route in ROUTES} == set()


def headers_of(who: str, world, client) -> dict[str, str]:
    """Make a person, sign them in with `client` or return the headers of their token."""
    if who == "anonymous":
        return {}
    if who in TOKENS:
        owner = make_person("owner", "viewer" if who == "token of a viewer" else "admin")
        fields = {"expires_at": world.flow.created_at} if who == "expired token" else {}
        scope = [world.east, world.west] if "for east and west" in who else None
        return bearer(make_token(owner, clusters=scope, **fields)[1])
    words = who.replace(", and", "").split()
    everywhere = words[0] if words[0] in {"viewer", "operator", "admin"} else "none"
    role = everywhere if " of " not in who or ", and" in who else "none"
    right = who.partition(" of ")[0].split()[-1] if " of " in who else ""
    granted = dict.fromkeys(("east", "west"), right) if right else {}
    client.force_login(make_person("somebody", role, **granted))
    return {}


def objects_of(world, *, is_dark: bool) -> dict:
    """Return the parameters of every address: objects that are granted to some, or to nobody."""
    cluster, flow = (world.dark, world.dark_flow) if is_dark else (world.east, world.flow)
    run = world.dark_run if is_dark else world.run
    plan = world.dark_plan if is_dark else world.plan
    report_run = world.dark_report_run if is_dark else world.report_run
    placement = world.dark_placement if is_dark else world.placement
    policy, action, drill = promotion_of(cluster)
    other = make_person("another")
    token = make_token(other)[0]
    return {
        "alias": cluster.alias,
        "name": "topic-00000",
        "group_id": "group-00000",
        "application_id": "shop",
        "flow_id": flow.pk,
        "run_id": run.pk,
        "person_id": other.pk,
        "token_id": token.pk,
        "plan_id": plan.pk,
        "row_id": plan.plan_groups.get().pk,
        "which": "apply",
        "form": "json",
        "offset": 600,
        "placement_id": placement.pk,
        "topic": "orders",
        "partition": 0,
        "policy_id": policy.pk,
        "action_id": action.pk,
        "drill_id": drill.pk,
        "kind": next(iter(ANALYSES), "none"),
        "table": "leaders",
        "schedule_id": world.schedule.pk,
        "report_id": world.report.pk,
        "report_kind": "replication",
        "delivery_id": report_run.deliveries.get().pk,
        "file_format": "json",
        "number": 0,
        "of": {
            "api-flow": {"pk": flow.pk},
            "api-availability": {"pk": cluster.partition_statuses.get(topic="orders").pk},
            "api-run": {"pk": run.pk},
            "api-failover": {"pk": plan.pk},
            "replication": {"run_id": plan.failover_runs.get().pk},
            "api-person": {"pk": other.pk},
            "api-token": {"pk": token.pk},
            "api-placement": {"pk": placement.pk},
            "api-policy": {"pk": policy.pk},
            "api-action": {"pk": action.pk},
            "api-drill": {"pk": drill.pk},
            "api-schedule": {"pk": world.schedule.pk},
            "reports": {"run_id": report_run.pk},
            "api-delivery": {"pk": report_run.deliveries.get().pk},
            "api-reports": {"pk": world.report.pk},
            "api-report": {"pk": report_run.pk},
        },
    }


def is_allowed(need: Need, who: str, *, is_dark: bool) -> bool:
    everywhere, granted = PEOPLE[who]
    if need.where == PUBLIC:
        return who != "expired token"
    if need.people_only and who in TOKENS:
        return False
    if need.where == OWN:
        return everywhere >= 0
    # Both flows lead from the same source.
    on_source = max(everywhere, granted) if everywhere >= 1 or not is_dark else 0
    reached = {
        SOURCE: on_source,
        ANYWHERE: max(everywhere, granted),
        HERE: everywhere if is_dark else granted,
    }
    return reached.get(need.where, everywhere) >= LEVELS[need.right]


def was_refused(answer) -> bool:
    to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?next=")
    return answer.status_code in {401, 403} or to_login


def ask(client, method: str, path: str, headers, body="{}"):
    form = {} if path.startswith("/api/") else {"data": ""}
    kind = "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
    if method in {"GET", "HEAD"}:
        return client.generic(method, path, headers=headers)
    return client.generic(method, path, form.get("data", body), content_type=kind, headers=headers)


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("is_dark", [False, True], ids=["granted", "dark"])
@pytest.mark.parametrize("method", METHODS)
def test_who_may_ask_what(world, client, pytestconfig, who, is_dark, method):
    """One test asks all routes: a client of its own for each of thousands of questions would take minutes."""
    is_campaign = pytestconfig.getoption("--campaign") == "access"
    is_curious = who in CURIOUS or is_campaign
    if method == "GET" and who in NOT_READING and not is_campaign:
        pytest.skip("read by everybody in the campaign `access`")
    headers, objects = headers_of(who, world, client), objects_of(world, is_dark=is_dark)
    wrong = []
    for route in ROUTES:
        needs = EXPECTED[route.name]
        path = route.path(objects)
        if method not in needs and not is_curious:
            continue
        if who in TOKENS and not path.startswith(("/api/", "/metrics")):
            continue
        if is_dark and not (set(route.parameters) & {"alias", "flow_id", "run_id", "pk"}):
            continue
        if route.name in {"login", "logout"} and method != "GET":
            continue
        point = transaction.savepoint()
        answer = ask(client, method, path, headers)
        transaction.savepoint_rollback(point)
        problem = judge(answer, needs.get(method), who, is_dark=is_dark)
        if problem:
            wrong.append(f"{method} {path} ({route.name}): {answer.status_code}, {problem}")
    assert wrong == []


def judge(answer, need: Need | None, who: str, *, is_dark: bool) -> str:
    """Return what is wrong with an answer."""
    if answer.status_code >= 500 and answer.status_code != 503:
        return "it broke"
    if need is None:
        done = answer.status_code in {200, 201, 202, 204}
        return "a method that nobody declared" if done else ""
    if is_allowed(need, who, is_dark=is_dark):
        is_there = answer.status_code != 404 or need is MINE or need is MINE_ALONE or need is OPEN
        return "" if is_there and not was_refused(answer) else "was refused"
    hidden = answer.status_code == 404
    return "" if was_refused(answer) or hidden else "was let in"


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
