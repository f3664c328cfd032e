"""The schema says everything about every route; docs/openapi.yaml is checked by test_write_docs."""

import json

import pytest
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from openapi_spec_validator import OpenAPIV31SpecValidator

from console.api_urls import router
from console.frame.rest.viewset import ApiViewSet
from jobs.version import VERSION

SCHEMA = SchemaGenerator().get_schema(request=None, public=True)
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]
ERROR = {"$ref": "#/components/schemas/Error"}


DOCUMENT = json.loads(OpenApiJsonRenderer().render(SCHEMA))
SCHEMAS = DOCUMENT["components"]["schemas"]
TYPE_WORDS = {"type", "$ref", "oneOf", "anyOf", "allOf", "enum"}


def test_it_is_openapi_3_1():
    assert SCHEMA["openapi"] == "3.1.0"


def test_the_document_is_valid_by_the_specification():
    errors = [
        f"{list(error.absolute_path)}: {error.message}"
        for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()
    ]
    assert errors == []


def test_it_says_which_version_it_describes_and_where_it_is_served():
    assert DOCUMENT["info"]["version"] == VERSION
    (server,) = DOCUMENT["servers"]
    assert server["variables"]["console"]["default"].startswith("http")


def nodes(node):
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from nodes(inner)


@pytest.mark.parametrize("word", ["nullable", "x-spec-enum-id"])
def test_it_has_no_word_that_openapi_3_1_does_not_know(word):
    assert [node for node in nodes(DOCUMENT) if word in node] == []


def test_no_enum_has_only_an_empty_value():
    assert [node for node in nodes(DOCUMENT) if node.get("enum") in ([""], [None])] == []


@pytest.mark.parametrize(
    ("name", "property_name"),
    [
        pytest.param(name, property_name, id=f"{name}.{property_name}")
        for name in ("Flow", "FlowPartition", "FailoverPlan", "FailoverPlanDetail", "FailoverRun")
        for property_name in SCHEMAS[name]["properties"]
    ],
)
def test_a_field_of_an_answer_has_a_type(name, property_name):
    assert TYPE_WORDS & set(SCHEMAS[name]["properties"][property_name])


@pytest.mark.parametrize(
    "name", sorted(set(SCHEMAS["NewFlow"]["properties"]) & set(SCHEMAS["Flow"]["properties"]))
)
def test_a_setting_is_read_with_the_type_that_it_is_written_with(name):
    assert kind_of(SCHEMAS["Flow"]["properties"][name]) == kind_of(
        SCHEMAS["NewFlow"]["properties"][name]
    )


def kind_of(field):
    """The type of a field, without the bounds that only its writer needs to know."""
    (only,) = field.get("allOf", [field])
    items = only.get("items", only.get("additionalProperties", {}))
    return (only.get("$ref"), only.get("type"), items.get("type"))


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
    expected = {"get": {"If-None-Match"}, "post": {"Idempotency-Key"}}
    assert names == expected.get(method, {"If-Match"})


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
