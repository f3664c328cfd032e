"""The schema says everything about every route; docs/openapi.yaml is checked by test_write_docs."""

import json

import pytest
from drf_spectacular.renderers import OpenApiJsonRenderer
from openapi_spec_validator import OpenAPIV31SpecValidator

from console.api_urls import router
from console.frame.rest.viewset import ApiViewSet
from jobs.version import VERSION
from tests.console.api.operations import OPERATIONS, live_schema

ERROR = {"$ref": "#/components/schemas/Error"}


TYPE_WORDS = {"type", "$ref", "oneOf", "anyOf", "allOf", "enum"}


@pytest.fixture(scope="module")
def document():
    return json.loads(OpenApiJsonRenderer().render(live_schema()))


@pytest.fixture(scope="module")
def schemas(document):
    return document["components"]["schemas"]


@pytest.fixture
def operation(method, path):
    return live_schema()["paths"][path][method]


def test_the_document_has_every_operation():
    found = {(m, path) for path, methods in live_schema()["paths"].items() for m in methods}
    assert {one.values for one in OPERATIONS} == found


def test_it_is_openapi_3_1():
    assert live_schema()["openapi"] == "3.1.0"


def test_the_document_is_valid_by_the_specification(document):
    errors = [
        f"{list(error.absolute_path)}: {error.message}"
        for error in OpenAPIV31SpecValidator(document).iter_errors()
    ]
    assert errors == []


def test_it_says_which_version_it_describes_and_where_it_is_served(document):
    assert document["info"]["version"] == VERSION
    (server,) = document["servers"]
    assert server["variables"]["console"]["default"].startswith("http")


def nodes(node):
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from nodes(inner)


@pytest.mark.parametrize("word", ["nullable", "x-spec-enum-id"])
def test_it_has_no_word_that_openapi_3_1_does_not_know(document, word):
    assert [node for node in nodes(document) if word in node] == []


def test_no_enum_has_only_an_empty_value(document):
    assert [node for node in nodes(document) if node.get("enum") in ([""], [None])] == []


@pytest.mark.parametrize(
    "name", ["Flow", "FlowPartition", "FailoverPlan", "FailoverPlanDetail", "FailoverRun"]
)
def test_every_field_of_an_answer_has_a_type(schemas, name):
    fields = schemas[name]["properties"]
    assert [field for field in fields if not TYPE_WORDS & set(fields[field])] == []


def test_a_setting_is_read_with_the_type_that_it_is_written_with(schemas):
    read, written = schemas["Flow"]["properties"], schemas["NewFlow"]["properties"]
    both = sorted(set(read) & set(written))
    assert len(both) > 5
    assert {name: kind_of(read[name]) for name in both} == {
        name: kind_of(written[name]) for name in both
    }


def kind_of(field):
    """The type of a field, without the bounds that only its writer needs to know."""
    (only,) = field.get("allOf", [field])
    items = only.get("items", only.get("additionalProperties", {}))
    return (only.get("$ref"), only.get("type"), items.get("type"))


@pytest.mark.parametrize(("prefix", "view", "name"), router.registry)
def test_every_view_set_has_the_rules_of_the_frame(prefix, view, name):
    assert issubclass(view, ApiViewSet)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_operation_has_a_summary_that_is_a_sentence(method, path, operation):
    assert operation["summary"][0].isupper()
    assert len(operation["summary"]) < 110


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_parameter_is_described(method, path, operation):
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path":
            assert parameter["description"], parameter["name"]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_errors_have_one_shape(method, path, operation):
    expected = {"400", "401", "403", "404", "429"} | (set() if method == "get" else {"409"})
    errors = {code: body for code, body in operation["responses"].items() if code >= "400"}
    assert expected <= set(errors)
    for body in errors.values():
        assert body["content"]["application/json"]["schema"] == ERROR


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_headers_of_the_frame_are_named(method, path, operation):
    names = {p["name"] for p in operation.get("parameters", []) if p["in"] == "header"}
    expected = {"get": {"If-None-Match"}, "post": {"Idempotency-Key"}}
    assert names == expected.get(method, {"If-Match"})


def test_lists_are_paged_by_cursor():
    unpaged = {
        "/api/v1/clusters/{alias}/freshness/",  # one row per noun, always
        "/api/v1/clusters/{alias}/mirror/consumer-offsets/",  # one group, as MirrorClient answers
        "/api/v1/checks/",  # the registry of checks
        "/api/v1/promotion-actors/",  # four ways
        "/api/v1/controller-sites/",  # the voters of a quorum
        "/api/v1/runbooks/",  # one per severity and cause
        "/api/v1/runs/kinds/",  # the registry of analyses: a handful
        "/api/v1/naming-policies/",  # one row per policy that explains the names: a handful
    }
    for path, methods in live_schema()["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200", {})
        shape = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if shape.get("type") == "array":
            assert path in unpaged
        if "Paginated" in shape.get("$ref", ""):
            names = {parameter["name"] for parameter in methods["get"]["parameters"]}
            assert {"cursor", "limit"} <= names
