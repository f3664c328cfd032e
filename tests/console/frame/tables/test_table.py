import csv
import io

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.template.loader import render_to_string
from django.test import RequestFactory

from console.frame.tables.columns import Choice, Column
from console.frame.tables.csv_export import csv_response
from console.frame.tables.table import Table
from jobs.numbers import format_count

pytestmark = pytest.mark.django_db

COLUMNS = [
    Column("codename", "Permission", "codename", link=lambda row: f"/permissions/{row.pk}/"),
    Column("content_type.model", "Model", "content_type__model"),
    Column("name", "Name"),
    Column("pk", "Number", "pk", numeric=True, format=format_count, definition="The primary key."),
    Column("content_type_id", "Type", is_hidden=True),
]
TO = "\N{EN DASH}"
FIRST = Choice(
    "First", [("a", "A"), ("b", "B")], lambda rows, value: rows.filter(codename__startswith=value)
)


@pytest.fixture(autouse=True)
def _rows():
    Permission.objects.all().delete()
    kind = ContentType.objects.create(app_label="test", model="topic")
    names = ["a1", "a2", "b1", "b2", "b3"]
    Permission.objects.bulk_create(
        Permission(codename=n, name=f"Topic {n}", content_type=kind) for n in names
    )


def asked(path: str):
    request = RequestFactory().get(path)
    request.user = get_user_model()(username="vera", role="viewer")
    return request


def read(query: str = "", **options):
    request = asked(f"/topics/{query}")
    options = {
        "search": ("codename", "name"),
        "filters": {"first": FIRST},
        "default_sort": "codename",
        "per_page": 2,
    } | options
    return Table(COLUMNS, **options).read(
        request, Permission.objects.select_related("content_type")
    )


def names(page) -> list[str]:
    return [row.codename for row in page.rows]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", ["a1", "a2"], id="first page, default sort"),
        pytest.param("?page=3", ["b3"], id="last page"),
        pytest.param("?page=99", ["b3"], id="beyond the end is the last page"),
        pytest.param("?page=-1", ["a1", "a2"], id="page that is no number"),
        pytest.param(f"?page={'9' * 5000}", ["a1", "a2"], id="absurd page"),
        pytest.param("?sort=codename&dir=desc", ["b3", "b2"], id="descending"),
        pytest.param("?sort=name", ["a1", "a2"], id="not sortable: default sort"),
        pytest.param("?sort=password", ["a1", "a2"], id="not a column: default sort"),
        pytest.param("?q=b", ["b1", "b2"], id="search"),
        pytest.param("?q=topic+B3", ["b3"], id="every word must be found"),
        pytest.param("?first=b&sort=codename&dir=desc", ["b3", "b2"], id="filter and sort"),
        pytest.param("?first=zzz", ["a1", "a2"], id="unknown answer filters nothing"),
        pytest.param("?q=nothing", [], id="nothing found"),
    ],
)
def test_rows_of_an_address(query, expected):
    assert names(read(query)) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        pytest.param("", f"1{TO}2 of 5", id="all"),
        pytest.param("?page=3", f"5{TO}5 of 5", id="last page"),
        pytest.param("?q=b", f"1{TO}2 of 3 (5 without filter)", id="filtered"),
        pytest.param("?q=nothing", "0 (5 without filter)", id="nothing found"),
    ],
)
def test_summary_counts_with_and_without_filter(query, text):
    assert read(query).summary == text


@pytest.mark.parametrize(
    ("query", "queries"),
    [pytest.param("", 2, id="plain"), pytest.param("?q=b&first=b&sort=pk", 3, id="filtered")],
)
def test_number_of_queries_does_not_depend_on_the_rows(query, queries, django_assert_num_queries):
    for per_page in (1, 5):
        with django_assert_num_queries(queries):
            page = read(query, per_page=per_page)
            render_to_string("components/_table.html", {"table": page, "label": "Topics"})


def test_head_tells_the_sort_to_screen_readers():
    sorts = {head.column.key: head.aria_sort for head in read("?sort=pk&dir=desc").columns}
    assert sorts == {
        "codename": "none",
        "content_type.model": "none",
        "name": "",
        "pk": "descending",
    }


def test_sort_link_turns_round_the_current_column_and_forgets_the_page():
    links = {head.column.key: head.link for head in read("?sort=pk&page=2&q=b").columns}
    assert links["pk"] == "/topics/?q=b&sort=pk&dir=desc"
    assert links["codename"] == "/topics/?q=b&sort=codename&dir=asc"


def test_page_links_keep_filter_and_sort():
    page = read("?q=b&sort=pk&page=1&range=6h")
    assert page.previous_link == ""
    assert page.next_link == "/topics/?q=b&sort=pk&range=6h&page=2"


def test_columns_can_be_chosen():
    page = read("?cols=pk&cols=content_type_id")
    assert [head.column.label for head in page.columns] == ["Number", "Type"]


def test_hidden_columns_wait_to_be_chosen():
    assert [column.label for column, is_shown in read().all_columns if not is_shown] == ["Type"]


def test_two_tables_in_one_page_have_parameters_of_their_own():
    query = "?q=b&permissions.q=a2"
    assert names(read(query)) == ["b1", "b2"]
    assert names(read(query, name="permissions")) == ["a2"]
    assert read(query, name="permissions").clear_link == "/topics/?q=b"


def test_rows_without_a_value_come_last_in_both_directions():
    rows = ContentType.objects.filter(app_label="test").values_list("pk", flat=True)
    assert len(rows) == 1
    column = [Column("permission__name", "Name", "permission__name")]
    empty = ContentType.objects.create(app_label="test", model="empty")
    for direction in ("asc", "desc"):
        request = asked(f"/?sort=permission__name&dir={direction}")
        page = Table(column).read(request, ContentType.objects.filter(app_label="test"))
        assert page.rows[-1] == empty


def test_table_is_accessible_html():
    text = render_to_string(
        "components/_table.html", {"table": read("?sort=pk"), "label": "Topics of east"}
    )
    assert text.count('<th scope="col"') == 4
    assert 'aria-sort="ascending"' in text
    assert '<caption class="visually-hidden">Topics of east</caption>' in text
    assert 'title="The primary key."' in text
    assert "<select" in text
    assert ">First</span>" in text


def test_empty_table_says_why():
    found = render_to_string(
        "components/_table.html", {"table": read("?q=nothing"), "label": "Topics"}
    )
    assert "Nothing fits the filter." in found
    Permission.objects.all().delete()
    none = render_to_string(
        "components/_table.html", {"table": read(), "label": "Topics", "empty": "No topics yet."}
    )
    assert "No topics yet." in none


def exported(query: str) -> list[list[str]]:
    response = csv_response(read(query), "topics-of-east")
    assert response["Content-Disposition"] == 'attachment; filename="topics-of-east.csv"'
    return list(csv.reader(io.StringIO(b"".join(response).decode())))


def test_csv_has_exactly_the_filtered_rows_of_all_pages():
    rows = exported("?q=b&sort=codename&dir=desc&page=2&cols=codename&cols=name")
    assert rows == [
        ["Permission", "Name"],
        ["b3", "Topic b3"],
        ["b2", "Topic b2"],
        ["b1", "Topic b1"],
    ]


@pytest.mark.parametrize(
    ("more", "header"),
    [
        pytest.param([], ["Lag", "Lag: without a number"], id="hidden otherwise"),
        pytest.param(
            [Column("content_type_id", "Unknown")], ["Lag", "Unknown"], id="in a column of its own"
        ),
    ],
)
def test_csv_tells_beside_a_total_how_many_rows_have_no_number(more, header):
    columns = [Column("pk", "Lag", "pk", unknown="content_type_id"), *more]
    page = Table(columns, default_sort="pk").read(asked("/topics/"), Permission.objects.all())
    first, row, *_ = csv.reader(io.StringIO(b"".join(csv_response(page)).decode()))
    one = Permission.objects.order_by("pk").first()
    assert (first, row) == (header, [str(one.pk), str(one.content_type_id)])
