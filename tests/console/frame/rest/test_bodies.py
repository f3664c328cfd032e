"""Bodies of requests: what is no JSON, fields that do not exist, and values of another shape."""

import pytest
from django.urls import get_resolver
from rest_framework import serializers

from tests.jobs.test_wrong_documents import PYTHON, WRONG_TEXTS

WRONG_SHAPES = [True, 1, 1.5, "x", [], {}, [[]], [1], [None], ["x"], {"x": []}]


def bodies():
    """Return the serializers of all bodies: the routes import them."""
    from console.frame.rest.serializers import BodySerializer

    assert get_resolver().url_patterns
    found, left = [], [BodySerializer]
    while left:
        found += (one for one in left if one is not BodySerializer)
        left = [inner for one in left for inner in one.__subclasses__()]
    return list(dict.fromkeys(found))


def sentences(detail):
    if isinstance(detail, dict):
        detail = list(detail.values())
    if isinstance(detail, list):
        return [text for one in detail for text in sentences(one)]
    return [str(detail)]


def said(field, value):
    """Return what a field says of a value."""
    try:
        field.run_validation(value)
    except serializers.ValidationError as error:
        return sentences(error.detail)
    return []


def test_every_object_in_a_body_refuses_fields_that_do_not_exist():
    from console.frame.rest.serializers import BodySerializer

    fields = [
        (body.__name__, name, getattr(field, "child", field))
        for body in bodies()
        for name, field in body().fields.items()
        if not field.read_only
    ]
    assert [
        (body, name)
        for body, name, field in fields
        if isinstance(field, serializers.Serializer) and not isinstance(field, BodySerializer)
    ] == []


def test_a_field_with_another_shape_names_no_type_of_python(db):
    strange = [
        (body.__name__, name, value, text)
        for body in bodies()
        for name, field in body().fields.items()
        if not field.read_only
        for value in WRONG_SHAPES
        for text in said(field, value)
        if "dictionary" in text or "type " in text or PYTHON.search(text)
    ]
    assert strange == []


@pytest.mark.parametrize("text", WRONG_TEXTS)
def test_a_body_that_is_no_json_is_told_in_our_words(admin, sign_in, text):
    answer = sign_in(admin).post(
        "/api/v1/mirror-config/", WRONG_TEXTS[text], content_type="application/json"
    )
    told = answer.json()
    assert answer.status_code == 400
    assert [one for one in (told["detail"], *sentences(told["fields"])) if PYTHON.search(one)] == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b'{"files": [', "ends too early", id="cut off"),
        pytest.param(b"\xff", "UTF-8", id="another charset"),
        pytest.param(b'{"files": NaN}', "NaN is no number of JSON", id="no number"),
        pytest.param(b'{"files": 1e999}', "a number that is too large", id="too large"),
        pytest.param(b'{"files": "\\ud800"}', "half of a character", id="half of a pair"),
        pytest.param(b"[]", "not a JSON object", id="a list"),
        pytest.param(b"null", "not a JSON object", id="null"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_with_its_reason(admin, sign_in, body, told):
    answer = sign_in(admin).post("/api/v1/mirror-config/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")
    assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        pytest.param(
            "placement-designs/",
            {"sites": [{"name": "a", "broker": [1]}]},
            "sites.0.broker",
            id="design",
        ),
        pytest.param(
            "what-if/",
            {"model": {}, "steps": [{"action": "return", "brokers": [1], "isClean": True}]},
            "steps.0.isClean",
            id="what-if",
        ),
    ],
)
def test_a_field_of_an_object_in_a_list_that_does_not_exist_is_refused(
    admin, sign_in, path, body, field
):
    answer = sign_in(admin).post(f"/api/v1/{path}", body, content_type="application/json")
    assert answer.status_code == 400
    assert [*answer.json()["fields"]] == [field]


def test_a_field_that_is_shown_only_is_refused_as_what_it_is():
    from console.reports.serializers import ChangedReportSerializer

    asked = ChangedReportSerializer(data={"kind": "x", "names": "x"}, partial=True)
    assert not asked.is_valid()
    assert {name: str(texts[0]) for name, texts in asked.errors.items()} == {
        "kind": "It is shown, and cannot be changed. Send only what is to change.",
        "names": "There is no such field; name is meant, probably.",
    }
