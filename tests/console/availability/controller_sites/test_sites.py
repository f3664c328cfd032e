"""Where controllers stand: said by a person, counted on by what-if, refused where it cannot be right."""

import html
import json
import re

import pytest

from console.accounts.models import AuditEntry
from console.availability.controller_sites.sites import sites_of
from console.availability.placements.models import ControllerSite
from console.availability.what_if.cluster_models import snapshot_of
from console.availability.what_if.matrices import keep_picture, matrix_of
from tests.console.availability.placed_world import make_placed, make_sites
from tests.console.making import NOW
from tests.console.quorum.making import make_log, make_status

pytestmark = pytest.mark.django_db

PAGE = "/availability/east/what-if/controllers/"
API = "/api/v1/controller-sites/"


@pytest.fixture
def cluster():
    """Brokers 1 (west) and 4 (east); of the voters 1, 2 and 3 the last two are no brokers."""
    cluster = make_sites(racks={1: "west", 4: "east"})
    make_status(make_log(cluster, NOW), NOW)
    make_placed(cluster, "orders", [1, 4], min_insync_replicas=1)
    return cluster


@pytest.fixture
def visitor(sign_in, operator, cluster):
    return sign_in(operator)


def post(client, **sites):
    fields = {f"sites.{name.removeprefix('c')}": text for name, text in sites.items()}
    return client.post(PAGE, fields)


def tell(client, sites, **more):
    body = {"cluster": "east", "sites": sites} | more
    return client.post(API, json.dumps(body), content_type="application/json")


def text_of(answer):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def has_majority_without(cluster, site):
    failures = matrix_of(cluster).document["failures"]
    (found,) = [one for one in failures if one["name"] == f"site {site}"]
    return found["quorum"]["has_majority"]


def test_the_page_asks_for_controllers_that_are_no_brokers(visitor):
    shown = text_of(visitor.get(PAGE))
    assert "Controller 2" in shown
    assert "Controller 3" in shown
    assert "Controller 1" not in shown
    assert "Node 1 west broker.rack" in shown


def test_with_their_sites_the_loss_of_a_site_takes_the_controllers_along(visitor, cluster):
    assert has_majority_without(cluster, "west")
    answer = post(visitor, c2="west", c3="east")
    assert answer.status_code == 302
    assert not has_majority_without(cluster, "west")
    assert has_majority_without(cluster, "east")
    shown = text_of(visitor.get("/availability/east/what-if/?steps=lose:rack:west"))
    assert "No majority" in shown


def test_what_was_kept_of_the_cluster_is_made_again(visitor, cluster):
    keep_picture(cluster, NOW)
    post(visitor, c2="west", c3="west")
    racks = {one.node_id: one.rack for one in snapshot_of(cluster).voters}
    assert racks == {1: "west", 2: "west", 3: "west"}
    keep_picture(cluster, NOW)
    assert not has_majority_without(cluster, "west")


def test_it_is_written_to_the_trail_what_it_was_before(visitor, cluster):
    post(visitor, c2="west")
    post(visitor, c2="east")
    entry = AuditEntry.objects.filter(action="controller_sites.save").latest("pk")
    assert (entry.before, entry.after) == ({"2": "west"}, {"2": "east"})
    assert entry.cluster == "east"


def test_what_is_left_empty_is_forgotten(visitor, cluster):
    post(visitor, c2="west", c3="east")
    post(visitor, c2="", c3="east")
    assert sites_of(cluster) == {3: "east"}


def test_a_site_that_is_too_long_is_refused_at_its_field_and_stays_there(visitor, cluster):
    answer = post(visitor, c2="w" * 256, c3="east")
    assert answer.status_code == 200
    assert "At most 255 characters." in text_of(answer)
    assert "w" * 256 in answer.content.decode()
    assert 'value="east"' in answer.content.decode()
    assert sites_of(cluster) == {}


@pytest.mark.parametrize(
    ("sites", "field", "said"),
    [
        pytest.param({"9": "west"}, "sites.9", "No voter", id="no voter"),
        pytest.param({"1": "east"}, "sites.1", "its broker.rack is west", id="a broker"),
        pytest.param({"two": "west"}, "sites.two", "No voter", id="no number"),
        pytest.param({"2": "we\nst"}, "sites.2", "line breaks", id="two lines"),
    ],
)
def test_rest_refuses_at_the_field(visitor, cluster, sites, field, said):
    answer = tell(visitor, sites)
    assert answer.status_code == 400
    assert said in json.dumps(answer.json()["fields"][field])
    assert sites_of(cluster) == {}


def test_rest_saves_and_lists(visitor, cluster):
    answer = tell(visitor, {"2": " west "})
    assert answer.status_code == 200
    listed = visitor.get(f"{API}?cluster=east").json()
    assert answer.json() == listed
    assert listed == [
        {"node_id": 1, "rack": "west", "site": ""},
        {"node_id": 2, "rack": "", "site": "west"},
        {"node_id": 3, "rack": "", "site": ""},
    ]


def test_before_the_quorum_was_described_nothing_can_be_said(sign_in, operator):
    make_sites()
    client = sign_in(operator)
    assert "Quorum not collected yet" in text_of(client.get(PAGE))
    assert "not collected yet" in json.dumps(tell(client, {"2": "west"}).json())


def test_in_read_only_mode_the_page_says_so_and_keeps_what_was_typed(visitor, cluster, settings):
    settings.CROSSLOG_READ_ONLY = True
    answer = post(visitor, c2="west")
    assert "read-only" in text_of(answer)
    assert 'value="west"' in answer.content.decode()
    assert not ControllerSite.objects.exists()
