"""The visitor, against a real web server."""

import pytest
from django.contrib.auth import get_user_model

from console.frame.processes.demo_client import DemoClient, Refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def visitor(live_server):
    get_user_model().objects.create_superuser("ada", "", "a-long-password")
    return DemoClient(f"{live_server.url}/")


def test_a_visitor_logs_in_and_reads_the_api(visitor):
    visitor.log_in("ada", "a-long-password")
    assert visitor.get("api/v1/clusters/")["results"] == []


def test_a_visitor_reads_pages(visitor):
    visitor.log_in("ada", "a-long-password")
    assert "<html" in visitor.page("clusters/")


def test_a_wrong_password_is_told(visitor):
    with pytest.raises(Refused, match="did not accept the login ada"):
        visitor.log_in("ada", "another-password")


def test_what_the_api_refuses_is_told_with_its_fields(visitor):
    visitor.log_in("ada", "a-long-password")
    with pytest.raises(Refused, match="bootstrap_servers") as refused:
        visitor.post("api/v1/clusters/", {"alias": "east"})
    assert refused.value.status == 400


def test_a_visitor_who_is_not_logged_in_is_refused(visitor):
    with pytest.raises(Refused) as refused:
        visitor.get("api/v1/clusters/")
    assert refused.value.status in {401, 403}
