"""Requests that no good client sends are the client's mistakes, named at the field where possible."""

import json

import pytest

from tests.console.making import make_cluster, make_flow, make_run

pytestmark = pytest.mark.django_db
SHAPE = {"code", "detail", "fields"}


@pytest.fixture
def api(sign_in, admin):
    return sign_in(admin)


def refused(answer, status=400):
    body = answer.json()
    assert (answer.status_code, set(body)) == (status, SHAPE), body
    return body


LISTS = [
    "brokers",
    "clusters",
    "flows",
    "group-offsets",
    "groups",
    "partitions",
    "runs",
    "schedules",
    "topics",
]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("query", "field"),
    [
        pytest.param("colour=red", "colour", id="unknown"),
        pytest.param("limit=0", "limit", id="too small"),
        pytest.param("limit=501", "limit", id="too large"),
        pytest.param("limit=" + "9" * 5000, "limit", id="huge"),
        pytest.param("limit=ten", "limit", id="no number"),
        pytest.param("limit=1&limit=2", "limit", id="twice"),
        pytest.param("cursor=%00", "cursor", id="NUL"),
        pytest.param("cursor=nonsense", "cursor", id="no cursor"),
        pytest.param("cursor=cD0lMDA%3D", "cursor", id="position with NUL"),
    ],
)
def test_a_list_refuses(api, name, query, field):
    assert list(refused(api.get(f"/api/v1/{name}/?{query}"))["fields"]) == [field]


@pytest.mark.parametrize("position", ["x", "1e400", "9" * 40, "2026-13-45", "\ud7ff"])
@pytest.mark.parametrize("name", ["flows", "runs", "partitions", "brokers"])
def test_a_cursor_with_a_position_of_another_kind_is_no_server_error(api, name, position):
    from base64 import b64encode
    from urllib.parse import urlencode

    make_run(make_flow())
    cursor = b64encode(urlencode({"p": position}).encode()).decode()
    answer = api.get(f"/api/v1/{name}/", {"cursor": cursor})
    assert answer.status_code in {200, 400}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/v1/topics/?severity=bad", "severity"),
        ("/api/v1/runs/?state=LOST", "state"),
        ("/api/v1/groups/?group=a%00b", "group"),
        ("/api/v1/flows/{flow}/series/?range=2y", "range"),
        ("/api/v1/flows/{flow}/series/?from=yesterday", "from"),
        ("/api/v1/flows/{flow}/series/?points=1", "points"),
        ("/api/v1/flows/{flow}/partitions/?topics=orders", "topics"),
        ("/api/v1/flows/{flow}/?verbose=1", "verbose"),
        ("/api/v1/runs/{run}/log/?lines=-1", "lines"),
        ("/api/v1/clusters/east/freshness/?cluster=west", "cluster"),
    ],
)
def test_a_wrong_parameter_is_named(api, path, field):
    flow = make_flow()
    path = path.format(flow=flow.pk, run=make_run(flow).pk)
    assert list(refused(api.get(path))["fields"]) == [field]


def test_a_parameter_that_a_post_does_not_have_is_refused_before_anything_is_done(api):
    flow = make_flow()
    assert refused(api.post(f"/api/v1/flows/{flow.pk}/start/?dry_run=true"))["fields"]
    flow.refresh_from_db()
    assert not flow.is_wanted


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        pytest.param(b"{", "application/json", 400, id="half"),
        pytest.param(b"", "application/json", 400, id="nothing"),
        pytest.param(b"[]", "application/json", 400, id="a list"),
        pytest.param(b'"name"', "application/json", 400, id="a text"),
        pytest.param(b'{"tasks": NaN}', "application/json", 400, id="NaN"),
        pytest.param(b'{"tasks": 1e999}', "application/json", 400, id="infinite"),
        pytest.param(b'{"tasks": ' + b"9" * 5000 + b"}", "application/json", 400, id="huge"),
        pytest.param(b'{"name": "\\ud800"}', "application/json", 400, id="half a character"),
        pytest.param(b'{"\\ud800": 1}', "application/json", 400, id="half a character as key"),
        pytest.param(b'{"name": "a\\u0000b"}', "application/json", 400, id="NUL"),
        pytest.param(b"\xff\xfe{}", "application/json", 400, id="not UTF-8"),
        pytest.param(b"[" * 100_000, "application/json", 400, id="deep"),
        pytest.param(b"{}", "application/json; charset=zlib", 400, id="a strange charset"),
        pytest.param(b" " * 1_100_000, "application/json", 413, id="too large"),
        pytest.param(b"name=x", "application/x-www-form-urlencoded", 415, id="a form"),
        pytest.param(b"<a/>", "text/xml", 415, id="XML"),
        pytest.param(b"{}", "nonsense", 415, id="no content type"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/flows/", "/api/v1/clusters/check/"])
def test_a_body_is_refused(api, path, body, content_type, status):
    refused(api.generic("POST", path, body, content_type), status)


def test_a_percent_sign_in_a_query_is_read_as_utf_8_whatever_the_body_is(api):
    answer = api.generic("POST", "/api/v1/flows/?x=%ff", b"{}", "application/json; charset=utf-16")
    assert list(refused(answer)["fields"]) == ["x"]


def test_only_json_is_answered(api):
    refused(api.get("/api/v1/clusters/", headers={"Accept": "text/html"}), 406)


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v1/clusters/none/", "/api/v1/flows/x/"])
def test_what_does_not_exist_is_told_in_the_same_shape(api, path):
    assert refused(api.get(path), 404)["code"] == "not_found"


def test_a_method_that_a_route_does_not_have_is_told_in_the_same_shape(api):
    answer = api.put("/api/v1/flows/", "{}", "application/json")
    refused(answer, 405)
    assert answer["Allow"]


@pytest.mark.parametrize("name", LISTS)
def test_pages_follow_each_other_to_the_end(api, name):
    for alias in ("a", "b", "c"):
        make_run(make_flow(alias, source=alias, target=f"{alias}-copy"))
    make_cluster("d")
    url, seen = f"/api/v1/{name}/?limit=2", []
    while url:
        page = api.get(url).json()
        seen += [json.dumps(row, sort_keys=True) for row in page["results"]]
        url = page["next"]
    assert len(seen) == len(set(seen))
    assert len(seen) == {"flows": 3, "runs": 3, "clusters": 7}.get(name, 0)
