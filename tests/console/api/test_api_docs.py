"""The API describes itself."""

import pytest

from console.api_urls import router
from tests.console.making import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    client.force_login(make_user("none"))
    return client


def test_the_root_lists_the_address_of_each_resource(reader):
    told = reader.get("/api/v1/").json()
    assert told["clusters"] == "http://testserver/api/v1/clusters/"
    assert told["quorum/voter-sets"] == "http://testserver/api/v1/quorum/voter-sets/"


def test_the_root_lists_every_resource_that_is_below_no_other(reader):
    nested = {prefix for prefix, _, _ in router.registry if "(?P<" in prefix}
    assert set(reader.get("/api/v1/").json()) == {p for p, _, _ in router.registry} - nested


def test_the_root_needs_a_person(client):
    assert client.get("/api/v1/").status_code == 401


def test_the_page_of_the_api_has_its_scripts_from_this_console(reader):
    page = reader.get("/api/v1/docs/").content.decode()
    assert 'data-schema="/api/v1/schema/"' in page
    assert "vendor/swagger-ui-5.33.1.bundle" in page


def test_the_page_of_the_api_needs_a_session(client):
    assert client.get("/api/v1/docs/")["Location"] == "/login/?next=/api/v1/docs/"
