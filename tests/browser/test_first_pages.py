"""Pages of a new console, which has no cluster, or one: they lead on, and are readable for all."""

import pytest
from django.utils import timezone

from tests.browser.world import fill_cluster, make_person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(
    ("clusters", "path", "role", "expects"),
    [
        pytest.param([], "/", "admin", "First steps", id="first-overview"),
        pytest.param([], "/", "viewer", "role admin", id="first-overview-viewer"),
        pytest.param(["east"], "/", "admin", "Register cluster", id="second-overview"),
        pytest.param([], "/clusters/", "admin", "No cluster yet", id="first-clusters"),
        pytest.param([], "/replication/", "admin", "two clusters", id="first-flows"),
        pytest.param([], "/replication/new/", "admin", "two clusters", id="first-new-flow"),
        pytest.param([], "/runs/", "admin", "No runs yet", id="first-runs"),
    ],
)
def test_page_of_a_new_console_is_readable_for_all(clusters, path, role, expects, watched, request):
    for alias in clusters:
        fill_cluster(alias, timezone.now(), is_well=True)
    watched.sign_in(make_person(role))
    page = watched.open(path)
    assert expects in page.inner_text("main")
    assert watched.look(request.node.callspec.id) == []
