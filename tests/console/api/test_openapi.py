"""The schema says everything about every route; docs/openapi.yaml is checked by test_write_docs."""

import pytest
from drf_spectacular.generators import SchemaGenerator

from console.api_urls import router
from console.frame.viewset import ApiViewSet

SCHEMA = SchemaGenerator().get_schema(request=None, public=True)
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]
ERROR = {"$ref": "#/components/schemas/Error"}


def test_it_is_openapi_3_1():
    assert SCHEMA["openapi"] == "3.1.0"


@pytest.mark.parametrize(("prefix", "view", "name"), router.registry)
def test_every_view_set_has_the_rules_of_the_frame(prefix, view, name):
    assert issubclass(view, ApiViewSet)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_operation_has_a_summary_that_is_a_sentence(method, path, operation):
    assert operation["summary"][0].isupper()
    assert len(operation["summary"]) < 110


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_parameter_is_described(method, path, operation):
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path":
            assert parameter["description"], parameter["name"]


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_errors_have_one_shape(method, path, operation):
    expected = {"400", "401", "403", "404", "429"} | (set() if method == "get" else {"409"})
    errors = {code: body for code, body in operation["responses"].items() if code >= "400"}
    assert expected <= set(errors)
    for body in errors.values():
        assert body["content"]["application/json"]["schema"] == ERROR


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_headers_of_the_frame_are_named(method, path, operation):
    names = {p["name"] for p in operation.get("parameters", []) if p["in"] == "header"}
    assert names == {"get": {"If-None-Match"}, "post": {"Idempotency-Key"}}.get(method, set())


def test_lists_are_paged_by_cursor():
    unpaged = {
        "/api/v1/clusters/{alias}/freshness/",  # one row per noun, always
        "/api/v1/clusters/{alias}/mirror/consumer-offsets/",  # one group, as MirrorClient answers
        "/api/v1/promotion-actors/",  # four ways
        "/api/v1/controller-sites/",  # the voters of a quorum
        "/api/v1/runbooks/",  # one per severity and cause
        "/api/v1/naming-policies/",  # one row per policy that explains the names: a handful
    }
    for path, methods in SCHEMA["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200", {})
        shape = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if shape.get("type") == "array":
            assert path in unpaged
        if "Paginated" in shape.get("$ref", ""):
            names = {parameter["name"] for parameter in methods["get"]["parameters"]}
            assert {"cursor", "limit"} <= names
