"""Every page has its route and every route its page: one table, checked from both sides."""

import html
import re

import pytest
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator

from console.clusters.models import Group
from tests.console.making import NOW, make_flow, make_partition, make_run, make_topic

V1 = "/api/v1/"
# What a person can do in a page, by the name of its address: the routes that do the same.
ROUTES_OF_PAGES = {
    "overview:overview": {"GET clusters/", "GET flows/"},
    "clusters:list": {"GET clusters/"},
    "clusters:new": {"POST clusters/", "POST clusters/check/"},
    "clusters:detail": {"GET clusters/{alias}/", "GET clusters/{alias}/freshness/"},
    "clusters:brokers": {"GET brokers/"},
    "clusters:topics": {"GET topics/"},
    "clusters:topic": {"GET partitions/"},
    "clusters:partitions": {"GET partitions/"},
    "clusters:groups": {"GET groups/"},
    "clusters:group": {"GET group-offsets/"},
    "clusters:settings": {"PATCH clusters/{alias}/"},
    "clusters:check": {"POST clusters/{alias}/check/"},
    "clusters:confirm": {"POST clusters/{alias}/confirm-cluster-id/"},
    "clusters:delete": {"DELETE clusters/{alias}/"},
    "replication:list": {"GET flows/"},
    "replication:new": {"POST flows/"},
    "replication:preview": {"POST flows/preview/"},
    "replication:detail": {
        "GET flows/{id}/", "GET flows/{id}/topics/", "GET flows/{id}/series/",
    },
    "replication:partitions": {"GET flows/{id}/partitions/"},
    "replication:runs": {"GET runs/"},
    "replication:settings": {"PATCH flows/{id}/"},
    "replication:start": {"POST flows/{id}/start/"},
    "replication:stop": {"POST flows/{id}/stop/"},
    "replication:delete": {"DELETE flows/{id}/"},
    "replication:accept-topics": {"POST flows/{id}/accept-topics/"},
    "replication:control": {"GET flows/{id}/control/", "PATCH flows/{id}/control/"},
    "replication:pause": {"POST flows/{id}/pause/"},
    "replication:resume": {"POST flows/{id}/resume/"},
    "replication:restart": {"POST flows/{id}/restart/"},
    "runs:list": {"GET runs/"},
    "runs:detail": {"GET runs/{id}/", "GET runs/{id}/log/"},
    "runs:cancel": {"POST runs/{id}/cancel/"},
    "accounts:tokens": {"GET tokens/", "POST tokens/"},
    "accounts:revoke-token": {"DELETE tokens/{id}/"},
    "accounts:people": {"GET people/"},
    "accounts:new-person": {"POST people/"},
    "accounts:person": {"GET people/{id}/", "PATCH people/{id}/"},
    "accounts:grant": {"POST people/{id}/grant/"},
    "accounts:set-active": {"PATCH people/{id}/"},
    "accounts:reset-password": {"POST people/{id}/reset-password/"},
    "accounts:unlock": {"POST people/{id}/unlock/"},
    "accounts:audit": {"GET audit-trail/"},
}  # fmt: skip
# Addresses that are no page about Kafka, and why they need no route.
WITHOUT_ROUTE = {
    "healthz": "for probes",
    "readyz": "for probes",
    "metrics:scrape": "for Prometheus",
    "api-schema": "is the API",
    "login": "a session of a browser; programs have tokens",
    "logout": "likewise",
    "accounts:oidc": "likewise",
    "accounts:oidc-back": "likewise",
    "accounts:password": "only a person has a password",
    "frame:jumps": "finds pages, not things",
    "frame:rail": "counts what the lists of the API say",
}
SHOWN = [
    ("overview:overview", "/"),
    ("clusters:list", "/clusters/"),
    ("clusters:detail", "/clusters/east/"),
    ("clusters:brokers", "/clusters/east/brokers/"),
    ("clusters:topics", "/clusters/east/topics/"),
    ("clusters:topic", "/clusters/east/topics/orders/"),
    ("clusters:partitions", "/clusters/east/partitions/"),
    ("clusters:groups", "/clusters/east/groups/"),
    ("clusters:group", "/clusters/east/groups/billing/"),
    ("replication:list", "/replication/"),
    ("replication:detail", "/replication/{flow}/"),
    ("replication:partitions", "/replication/{flow}/partitions/"),
    ("replication:runs", "/replication/{flow}/runs/"),
    ("replication:control", "/replication/{flow}/control/"),
    ("runs:list", "/runs/"),
    ("runs:detail", "/runs/{run}/"),
    ("accounts:tokens", "/account/tokens/"),
    ("accounts:people", "/people/"),
    ("accounts:audit", "/audit/"),
]


def page_names(patterns, space=""):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from page_names(pattern.url_patterns, pattern.namespace or space)
        else:
            yield f"{space}:{pattern.name}" if space else pattern.name


def routes():
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return {
        f"{method.upper()} {path.removeprefix(V1)}"
        for path, methods in schema["paths"].items()
        for method in methods
    }


def as_route(call):
    """`GET /api/v1/flows/12/topics/?x=y` -> `GET flows/{id}/topics/`"""
    method, path = html.unescape(call).split()
    path = re.sub(r"/clusters/[^/]+/", "/clusters/{alias}/", path.partition("?")[0])
    path = re.sub(r"/(flows|runs|people|tokens)/[0-9a-f-]+/", r"/\1/{id}/", path)
    return f"{method} {path.removeprefix(V1)}"


def test_every_page_has_its_routes():
    pages = {name for name in page_names(get_resolver().url_patterns) if "api-" not in name}
    assert pages - set(WITHOUT_ROUTE) == set(ROUTES_OF_PAGES)


def test_every_route_has_its_page():
    assert set().union(*ROUTES_OF_PAGES.values()) == routes()


@pytest.fixture
def numbers(sign_in, admin):
    flow = make_flow()
    make_topic(flow.source, "orders"), make_partition(flow)
    Group.objects.create(cluster=flow.source, group_id="billing", changed_at=NOW)
    sign_in(admin)
    return {"flow": flow.pk, "run": make_run(flow).pk}


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "address"), SHOWN)
def test_a_page_shows_its_route(client, numbers, name, address):
    answer = client.get(address.format(**numbers))
    calls = re.findall(r'data-copy="(GET /api/v1/[^"]*)"', answer.content.decode())
    assert calls
    assert {as_route(call) for call in calls} <= ROUTES_OF_PAGES[name]


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "address"), SHOWN)
def test_the_route_that_a_page_shows_answers(client, numbers, name, address):
    page = client.get(address.format(**numbers)).content.decode()
    for call in re.findall(r'data-copy="GET (/api/v1/[^"]*)"', page):
        assert client.get(html.unescape(call)).status_code == 200, call
