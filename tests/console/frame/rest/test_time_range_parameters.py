"""The API reads a time range as pages do: the same forms, the same refusals."""

import pytest
from rest_framework.exceptions import ErrorDetail

from console.frame.pages.timerange import MOMENT_FORMS, RANGE_FORM
from console.frame.rest.parameters import TimeRangeParameters

FORMS = f"Accepted: {RANGE_FORM}; or from and to, each as {MOMENT_FORMS}."


@pytest.mark.parametrize(
    ("given", "span_s"),
    [
        pytest.param({}, 3600, id="default"),
        pytest.param({"range": "90m"}, 5400, id="any length"),
        pytest.param({"from": "now-6h", "to": "now"}, 21_600, id="relative"),
        pytest.param({"from": "2026-11-21T01:00Z", "to": "2026-11-21 02:00:00"}, 3600, id="ISO"),
        pytest.param(
            {"from": "1795222800", "to": "1795230000000"}, 7200, id="seconds, milliseconds"
        ),
    ],
)
def test_every_form_of_a_page_is_read(given, span_s):
    read = TimeRangeParameters(data=given)
    assert read.is_valid()
    assert read.validated_data["time_range"].span_s == span_s


@pytest.mark.parametrize(
    ("given", "errors"),
    [
        ({"range": "2y"}, {"range": [f"range='2y' is not a time range. {FORMS}"]}),
        ({"from": "x"}, {"from": [f"from='x' is not a time. Accepted: {MOMENT_FORMS}."]}),
        ({"to": "25:00"}, {"to": [f"to='25:00' is not a time. Accepted: {MOMENT_FORMS}."]}),
        ({"range": "400d"}, {"range": ["The range is longer than 366 days."]}),
    ],
)
def test_a_wrong_range_is_refused_at_its_parameter_with_the_accepted_forms(given, errors):
    read = TimeRangeParameters(data=given)
    assert not read.is_valid()
    assert read.errors == {
        k: [ErrorDetail(text, "invalid") for text in v] for k, v in errors.items()
    }
