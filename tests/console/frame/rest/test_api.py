import json

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from console.frame.errors import ActionRefused
from console.frame.rest.api import Pagination
from jobs.cluster.errors import InvalidFields, UnknownTopicOrPartition, Unreachable


def answer_to(exc: Exception):
    class View(APIView):
        authentication_classes = ()
        permission_classes = ()

        def get(self, request):
            raise exc

    response = View.as_view()(APIRequestFactory().get("/api/v1/"))
    response.render()
    return response.status_code, json.loads(response.content)


@pytest.mark.parametrize(
    ("exc", "status", "code"),
    [
        pytest.param(Http404(), 404, "not_found", id="django not found"),
        pytest.param(PermissionDenied("no"), 403, "permission_denied", id="django denied"),
        pytest.param(exceptions.NotAuthenticated(), 403, "not_authenticated", id="anonymous"),
        pytest.param(exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed", id="method"),
        pytest.param(exceptions.ParseError(), 400, "parse_error", id="not JSON"),
        pytest.param(exceptions.Throttled(), 429, "throttled", id="too often"),
        pytest.param(exceptions.ValidationError("no"), 400, "invalid", id="validation"),
        pytest.param(InvalidFields({"alias": "taken"}), 400, "invalid", id="fields of a spec"),
        pytest.param(
            ActionRefused("flow_running", "The flow is running."),
            409,
            "flow_running",
            id="refused action",
        ),
        pytest.param(
            Unreachable("no answer", cluster="east"), 503, "unreachable", id="cluster away"
        ),
        pytest.param(
            UnknownTopicOrPartition("gone", cluster="east"),
            404,
            "unknown_topic_or_partition",
            id="topic away",
        ),
    ],
)
def test_every_error_has_one_shape(exc, status, code):
    answered, body = answer_to(exc)
    assert (answered, body["code"]) == (status, code)
    assert set(body) == {"code", "detail", "fields"}
    assert body["detail"]


def test_a_fault_says_what_to_do():
    assert (
        "Start the broker if it is down; else check host, port"
        in answer_to(Unreachable("no answer", cluster="east"))[1]["detail"]
    )


@pytest.mark.parametrize(
    ("detail", "fields"),
    [
        pytest.param({"alias": ["taken"]}, {"alias": ["taken"]}, id="field"),
        pytest.param(
            {"source": {"alias": ["bad", "long"]}}, {"source.alias": ["bad", "long"]}, id="nested"
        ),
        pytest.param({"non_field_errors": ["both"]}, {}, id="general"),
        pytest.param([{}, {"alias": ["bad"]}], {"alias": ["bad"]}, id="list of objects"),
    ],
)
def test_validation_errors_name_their_fields(detail, fields):
    assert answer_to(exceptions.ValidationError(detail))[1]["fields"] == fields


def test_a_mistake_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        answer_to(ZeroDivisionError())


@pytest.mark.parametrize(
    ("declared", "ordering"),
    [
        pytest.param(None, ("pk",), id="nothing declared"),
        pytest.param("name", ("name", "pk"), id="made unique"),
        pytest.param(("-created_at", "id"), ("-created_at", "id"), id="unique already"),
    ],
)
def test_pages_have_an_order_without_ties(declared, ordering):
    class View:
        pass

    View.ordering = declared
    assert Pagination().get_ordering(None, None, View) == ordering
