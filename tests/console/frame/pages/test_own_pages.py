import re

import pytest
from django.contrib.auth import get_user_model

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.gallery.urls")]
PAGES = ["/gallery/", "/login/", "/nothing/", "/table/"]


@pytest.fixture
def reader(client):
    client.force_login(get_user_model().objects.create_user("ana", role="viewer"))
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("path", [*PAGES, "/broken/"])
def test_every_answer_has_a_policy_without_inline_script(reader, path):
    policy = reader.get(path)["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", [*PAGES, "/broken/"])
def test_no_page_has_inline_script_or_style(reader, path):
    html = reader.get(path).content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|<style", html)


@pytest.mark.parametrize("path", [*PAGES, "/broken/"])
def test_no_page_loads_anything_from_elsewhere(reader, path):
    assert not re.search(r"(src|href|action)=\"(https?:)?//", reader.get(path).content.decode())


def test_ids_of_a_page_are_unique(reader):
    ids = re.findall(r'\sid="([^"]+)"', reader.get("/gallery/").content.decode())
    assert sorted(ids) == sorted(set(ids))


def test_the_sidebar_marks_the_current_section(reader):
    assert (
        '<a href="/" data-key="o" aria-current="page"><span>Overview</span></a>'
        in reader.get("/").content.decode()
    )


def test_the_sidebar_lists_only_sections_that_have_a_page(reader):
    assert 'href="/quorum/"' not in reader.get("/").content.decode()


def test_the_sidebar_is_not_shown_to_strangers(client):
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert "Overview</span></a>" not in response.content.decode()


@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", "dark"), ("auto", "auto"), ("<script>", "auto")]
)
def test_theme_is_in_the_first_byte(reader, cookie, theme):
    reader.cookies["theme"] = cookie
    assert f'data-theme="{theme}"' in reader.get("/").content.decode()


def test_htmx_gets_only_the_live_part(reader):
    whole, part = reader.get("/table/"), reader.get("/table/", headers={"HX-Request": "true"})
    assert "HX-Request" in whole["Vary"]
    assert part["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/api/v1/nothing/", 404, "not_found")],
)
def test_programs_get_errors_in_the_shape_of_the_api(reader, path, status, code):
    response = reader.get(path)
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_a_mistake_of_ours_needs_no_database_to_be_shown(reader, django_assert_num_queries):
    response = reader.get("/broken/")
    assert response.status_code == 500
    assert "Internal error" in response.content.decode()


def test_frame_itself_asks_the_database_only_who_is_there_and_which_clusters(
    reader, django_assert_max_num_queries
):
    with django_assert_max_num_queries(3):
        reader.get("/nothing/")


def test_wrong_password_is_said_beside_the_form(client):
    html = client.post("/login/", {"username": "ana", "password": "no"}).content.decode()
    assert 'role="alert"' in html
