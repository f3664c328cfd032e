"""What a request body holds that no field has is refused, inside of its lists, too."""

import pytest
from django.urls import get_resolver
from rest_framework import serializers

from console.frame.rest.serializers import BodySerializer


def bodies():
    """Return the serializers of all bodies; the routes import them."""
    assert get_resolver().url_patterns
    found, left = [], [BodySerializer]
    while left:
        kinds = left.pop().__subclasses__()
        found += kinds
        left += kinds
    return sorted(set(found), key=lambda one: one.__qualname__)


def lenient(fields, path=""):
    """Yield fields that are objects, or lists of them, and pass by what they do not know."""
    for name, field in fields.items():
        inner = field.child if isinstance(field, serializers.ListSerializer) else field
        if isinstance(inner, serializers.BaseSerializer) and not field.read_only:
            if not isinstance(inner, BodySerializer):
                yield f"{path}{name}"
            yield from lenient(inner.fields, f"{path}{name}.")


def test_every_object_inside_of_a_body_refuses_unknown_fields():
    found = {one.__qualname__: list(lenient(one().fields)) for one in bodies()}
    assert found.keys() >= {"WhatIfQuery", "WishSerializer"}
    assert not {name: fields for name, fields in found.items() if fields}


@pytest.mark.django_db
def test_a_site_of_a_wish_names_the_field_that_is_meant(sign_in, viewer):
    sites = [{"name": "west", "brokers": [1, 2], "standby": [2]}]
    answer = sign_in(viewer).post(
        "/api/v1/placement-designs/", {"sites": sites}, content_type="application/json"
    )
    assert answer.status_code == 400
    told = answer.json()["fields"]["sites.0.standby"]
    assert told == ["There is no such field; standbys is meant, probably."]
