"""What no good link has in it: too many digits, no time, a NUL. An answer says so, and nothing breaks."""

from urllib.parse import quote

import pytest

from console.availability.status.models import PartitionStatus
from console.clusters.models import Group, Topic
from console.replication.flows.models import GroupReadiness
from tests.console.safety.walk import objects_of
from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db
DIGITS = "9" * 5000
DASHES = "-" * 36


@pytest.fixture
def ada(client, world):
    objects = objects_of(world, is_dark=False)
    client.force_login(make_person("ada", "admin"))
    return client, objects["flow_id"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param(f"/quorum/east/partitions/?partition={DIGITS}", 200, id="partition of a log"),
        pytest.param(f"/quorum/east/log/?broker={DIGITS}", 200, id="broker of a log"),
        pytest.param(f"/quorum/east/state/?at={DIGITS}", 200, id="offset of a log"),
        pytest.param(f"/quorum/east/advisor/?remove={DIGITS}", 200, id="voter"),
        pytest.param(f"/availability/east/partitions/?broker={DIGITS}", 200, id="broker"),
        pytest.param(f"/availability/east/partitions/?missing={DIGITS}", 200, id="missing broker"),
        pytest.param(f"/availability/east/?absences-broker={DIGITS}", 200, id="absent broker"),
        pytest.param(f"/api/v1/flows/{DIGITS}/", 404, id="flow"),
        pytest.param(f"/api/v1/flows/{{flow}}/failover-plans/{DIGITS}/", 404, id="plan"),
        pytest.param(f"/api/v1/drills/{DASHES}/", 404, id="drill"),
        pytest.param(f"/api/v1/promotion-actions/{DASHES}/", 404, id="action"),
        pytest.param(f"/api/v1/runs/{DASHES}/", 404, id="run"),
        pytest.param("/availability/east/?to=0001-01-01T00:00:00Z", 200, id="the first hour"),
        pytest.param("/availability/east/?to=9999-12-31T23:59:59Z", 200, id="the last second"),
        pytest.param("/api/v1/flows/{flow}/series/?to=0001-01-01T00:00:00Z", 400, id="a series"),
        pytest.param("/replication/{flow}/checkpoints/a%00b/", 400, id="NUL in a group"),
        pytest.param("/replication/{flow}/partitions/?topic=a%00b", 400, id="NUL in a filter"),
        pytest.param("/quorum/east/log/?topic=%00", 400, id="NUL alone"),
    ],
)
def test_an_address_is_answered_whatever_is_in_it(ada, path, status):
    client, flow = ada
    assert client.get(path.format(flow=flow)).status_code == status


def test_a_number_that_json_has_and_no_computer_is_refused_in_every_body(ada):
    client, _ = ada
    body = b'{"cluster": "east", "pattern": "orders", "priority": 1e999}'
    answer = client.post("/api/v1/promotion-policies/", body, content_type="application/json")
    assert answer.status_code == 400
    assert "a number that is too large" in answer.json()["detail"]


# Any client that may join a group names it, and a broker takes every name that is not empty.
NAMES = ["a\nb", "a/b", "\r\n", "a?b#c", "100%", "\u202egpj.exe", "\x1b[31m", "<script>", "a b "]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_group_of_any_name_is_in_its_lists_and_has_its_page(ada, name):
    client, flow = ada
    Group.objects.filter(group_id="group-00000").update(group_id=name)
    GroupReadiness.objects.filter(group="group-00000").update(group=name)
    for place in ("/clusters/east/groups/", f"/replication/{flow}/checkpoints/"):
        assert client.get(place).status_code == 200
        page = client.get(f"{place}{quote(name, safe='')}/")
        assert page.status_code == 200
        assert b"<script>alert" not in page.content
    assert client.get("/clusters/east/groups/?format=csv").status_code == 200


@pytest.mark.parametrize("name", ["a/b", "a\nb", "<script>"], ids=ascii)
def test_a_topic_that_kafka_would_not_make_breaks_no_page(ada, name):
    """What says that it is a broker can say anything."""
    client, _ = ada
    Topic.objects.filter(name="topic-00000").update(name=name)
    PartitionStatus.objects.filter(topic="orders").update(topic=name)
    for path in ("/clusters/east/topics/", "/availability/east/", "/availability/east/partitions/"):
        assert client.get(path).status_code == 200
    assert client.get(f"/clusters/east/topics/{quote(name, safe='')}/").status_code == 200
    page = client.get(f"/availability/east/partitions/{quote(name, safe='')}/0/")
    assert page.status_code == 200
