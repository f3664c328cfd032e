"""Who sees which finding: in the page, its CSV, the API, the badge, the palette and the overview."""

import pytest
from django.urls import reverse

from console.accounts.models import ClusterGrant
from console.findings.navigation import badge
from console.frame.pages.navigation import find_hits
from console.overview.queries import read_overview
from tests.console.findings.rows import make_import, make_row
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
SEEN = ["observers of east", "quorum of east"]
HIDDEN = ["observers of west", "quorum of west", "flow to west", "imported log"]


@pytest.fixture(autouse=True)
def rows():
    """East can be seen by a viewer of east; the flow has one side that cannot."""
    east, west = make_cluster("east"), make_cluster("west")
    scopes = [east, make_log(east), west, make_log(west), make_flow(), make_import()]
    for scope, sentence in zip(scopes, SEEN + HIDDEN, strict=True):
        make_row(scope, sentence=sentence)


@pytest.fixture
def viewer_of_east():
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("east"), role="viewer")
    return person


def shown(text):
    return [one for one in SEEN + HIDDEN if one in text]


@pytest.mark.parametrize(
    "address",
    ["/findings/", "/findings/?format=csv", "/findings/?cluster=east", "/api/v1/findings/"],
)
def test_a_viewer_of_one_cluster_sees_only_its_findings(sign_in, viewer_of_east, address):
    answer = sign_in(viewer_of_east).get(address)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    assert shown(content.decode()) == SEEN


def test_menus_name_only_clusters_and_rules_that_can_be_seen(sign_in, viewer_of_east):
    text = sign_in(viewer_of_east).get("/findings/").content.decode()
    assert '<option value="east">' in text
    assert '<option value="west">' not in text
    assert '<option value="retention_loss">' not in text


def test_with_a_role_everywhere_all_findings_are_listed(sign_in, viewer):
    assert shown(sign_in(viewer).get("/findings/").content.decode()) == SEEN + HIDDEN


def test_who_sees_both_sides_of_a_flow_sees_its_findings(sign_in, viewer_of_east):
    west = make_cluster("west")
    ClusterGrant.objects.create(user=viewer_of_east, cluster=west, role="viewer")
    text = sign_in(viewer_of_east).get("/findings/").content.decode()
    assert shown(text) == [*SEEN, *HIDDEN[:3]]


@pytest.mark.parametrize("scope", ["cluster=west", "log=west", "log=_old", "cluster=x", "flow=99"])
def test_a_scope_that_cannot_be_seen_is_not_there(sign_in, viewer_of_east, scope):
    answer = sign_in(viewer_of_east).get(f"/api/v1/findings/?{scope}")
    assert answer.status_code == 404


def test_the_badge_and_the_overview_count_only_what_can_be_seen(viewer_of_east, viewer):
    assert badge(viewer_of_east).text == "2"
    assert badge(viewer).text == "5"
    assert read_overview(NOW, viewer_of_east).finding_count == 2


def test_metrics_count_only_findings_that_can_be_seen(sign_in, viewer_of_east):
    text = sign_in(viewer_of_east).get("/metrics").content.decode()
    found = [one for one in text.splitlines() if one.startswith("crosslog_open_findings{")]
    assert [one.partition(",flow=")[0].partition("{")[2] for one in found] == [
        'check="no_leader",cluster="east"',
        'check="promotion_wanted",cluster="east"',
    ]


def test_the_palette_finds_only_findings_that_can_be_seen(viewer_of_east, viewer):
    hits = [one for one in find_hits(viewer_of_east, "finding orders-0") if one.kind == "finding"]
    assert {(one.detail, one.path) for one in hits} == {
        ("Cluster east", reverse("availability:promotion", args=["east"])),
        ("Quorum of east", reverse("quorum:detail", args=["east"])),
    }
    assert any("Flow" in one.detail for one in find_hits(viewer, "finding orders-0"))
