"""Pages of a sequence that no database holds."""

from types import SimpleNamespace

import pytest
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from console.frame.rest.api import SequencePagination


def page(address, rows=range(120)):
    pages = SequencePagination()
    request = Request(APIRequestFactory().get(address))
    shown = pages.paginate_queryset(rows, request, SimpleNamespace())
    return shown, pages.get_next_link(), pages.get_previous_link()


def test_pages_follow_each_other_to_the_end_and_back():
    first, after, none = page("/rows/")
    second, last_link, before = page(after)
    last, end, _ = page(last_link)
    assert (*first, *second, *last) == tuple(range(120))
    assert (end, none) == (None, None)
    assert page(before)[0] == first


def test_a_page_has_as_many_rows_as_are_asked_for():
    assert page("/rows/?limit=100")[0] == list(range(100))


def test_no_row_is_an_empty_page():
    assert page("/rows/", ()) == ([], None, None)


@pytest.mark.parametrize("cursor", ["nonsense", "cD0yMDI2"], ids=["no base64", "a position"])
def test_a_cursor_of_another_list_is_refused(cursor):
    with pytest.raises(ValidationError):
        page(f"/rows/?cursor={cursor}")
