"""The OpenAPI document as the console serves it."""

import json

import pytest
import yaml
from django.urls import reverse

from console.frame.rest.schema_view import SchemaView
from jobs.spark.analyses.kinds import QUESTIONS

pytestmark = pytest.mark.django_db
ADDRESS = reverse("api-schema")


def test_the_document_is_made_once_for_each_format(client):
    told = client.get(ADDRESS)
    assert SchemaView.made["yaml"] == told.content
    assert client.get(ADDRESS).content == told.content


def test_it_is_the_same_as_yaml_and_as_json(client):
    told = client.get(ADDRESS)
    assert told["Content-Type"].startswith("application/vnd.oai.openapi")
    as_yaml = yaml.load(told.content, yaml.CSafeLoader)
    assert json.loads(client.get(ADDRESS, {"format": "json"}).content) == as_yaml


def test_the_kinds_of_runs_that_can_be_asked_for_are_an_enumeration(client):
    told = json.loads(client.get(ADDRESS, {"format": "json"}).content)
    schemas = told["components"]["schemas"]
    assert schemas["AnalysisKind"]["enum"] == list(QUESTIONS)
    assert schemas["Ask"]["properties"]["kind"]["allOf"] == [
        {"$ref": "#/components/schemas/AnalysisKind"}
    ]
