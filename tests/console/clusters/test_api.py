"""Clusters and what was seen of them over REST."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.clusters.models import Cluster, Group, Topic
from jobs.availability.status.severity import Severity
from tests.console.clusters.making import make_cluster, make_seen
from tests.console.making import make_flow
from tests.console.safety.world import make_person

# Port 1 of this machine: connections to it are refused at once.
NOBODY = {"alias": "west", "bootstrap_servers": "127.0.0.1:1"}
LISTS = ("clusters", "brokers", "topics", "partitions", "groups", "group-offsets")


@pytest.fixture
def east(db):
    cluster = make_cluster("east", cluster_id="id-1", seen_cluster_id="id-2")
    make_seen(cluster)
    return cluster


def api(path: str) -> str:
    return f"/api/v1/{path}"


def send(client, method, path, body=None):
    return getattr(client, method)(api(path), body or {}, content_type="application/json")


# --- who may what ---


@pytest.mark.parametrize(
    "path", [*LISTS, "clusters/east", "clusters/east/freshness", "clusters/east/mirror"]
)
def test_everybody_with_an_account_may_read(east, viewer, sign_in, path):
    assert sign_in(viewer).get(api(f"{path}/")).status_code == 200


@pytest.mark.parametrize("path", [*LISTS, "clusters/east"])
def test_without_an_account_nothing_is_told(east, client, path):
    answer = client.get(api(f"{path}/"))
    assert answer.status_code in (401, 403)
    assert "east" not in answer.content.decode()


WRITES = [
    pytest.param("post", "clusters/", NOBODY, id="register"),
    pytest.param("patch", "clusters/east/", {"is_enabled": False}, id="change"),
    pytest.param("delete", "clusters/east/", None, id="forget"),
    pytest.param("post", "clusters/east/confirm-cluster-id/", {"cluster_id": "id-2"}, id="confirm"),
    pytest.param("post", "clusters/check/", NOBODY, id="try settings"),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_changes_the_registry(east, request, sign_in, role, method, path, body):
    person = request.getfixturevalue(role)
    answer = send(sign_in(person), method, path, body)
    assert answer.status_code == 403
    assert "role admin" in answer.json()["detail"]


def test_an_operator_may_check_a_registered_cluster(east, operator, sign_in):
    Cluster.objects.update(bootstrap_servers="127.0.0.1:1")
    answer = send(sign_in(operator), "post", "clusters/east/check/")
    assert (answer.status_code, answer.json()["code"]) == (409, "unreachable")


def test_a_viewer_may_not_make_crosslog_ask_a_cluster(east, viewer, sign_in):
    assert send(sign_in(viewer), "post", "clusters/east/check/").status_code == 403


# --- writing ---


def test_an_unreachable_cluster_is_refused_at_the_field_and_not_saved(admin, sign_in):
    answer = send(sign_in(admin), "post", "clusters/", NOBODY)
    assert (answer.status_code, answer.json()["code"]) == (409, "unreachable")
    assert "Connection refused: " in answer.json()["fields"]["bootstrap_servers"][0]
    assert not Cluster.objects.exists()


def test_an_unreachable_cluster_is_saved_on_request(admin, sign_in):
    body = NOBODY | {"save_unchecked": True}
    answer = send(sign_in(admin), "post", "clusters/", body)
    assert answer.status_code == 201
    assert answer.json()["status"]["state"] == "new"


def test_a_name_that_is_not_known_to_dns_is_told_so(admin, sign_in):
    body = NOBODY | {"bootstrap_servers": "no-such-host.invalid:9092"}
    answer = send(sign_in(admin), "post", "clusters/check/", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "name_not_resolved")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "alias", id="nothing"),
        pytest.param(NOBODY | {"alias": "a.b"}, "alias", id="alias with a dot"),
        pytest.param(NOBODY | {"sasl.jaas.config": "x"}, "sasl.jaas.config", id="unknown setting"),
        pytest.param(NOBODY | {"ssl_ca": "/etc/passwd"}, "ssl_ca", id="a path"),
        pytest.param(
            NOBODY | {"ssl_ca": "file:../passwd"}, "ssl_ca", id="a path out of the folder"
        ),
        pytest.param(NOBODY | {"sasl_password": "env:PATH"}, "sasl_password", id="any variable"),
        pytest.param(NOBODY | {"security_protocol": "TELNET"}, "security_protocol", id="protocol"),
        pytest.param(NOBODY | {"bootstrap_servers": 7}, "bootstrap_servers", id="a number"),
    ],
)
def test_bad_input_is_named_by_field(admin, sign_in, body, field):
    answer = send(sign_in(admin), "post", "clusters/", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert field in answer.json()["fields"]


def test_settings_can_be_changed_one_by_one(east, admin, sign_in):
    answer = send(sign_in(admin), "patch", "clusters/east/", {"is_enabled": False})
    assert (answer.status_code, answer.json()["status"]["state"]) == (200, "off")


def test_confirming_a_new_cluster_id(east, admin, sign_in):
    body = {"cluster_id": "id-2"}
    answer = send(sign_in(admin), "post", "clusters/east/confirm-cluster-id/", body)
    assert (answer.status_code, answer.json()["cluster_id"]) == (200, "id-2")


def test_confirming_an_id_that_nobody_saw_is_a_conflict(east, admin, sign_in):
    body = {"cluster_id": "id-3"}
    answer = send(sign_in(admin), "post", "clusters/east/confirm-cluster-id/", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_the_seen_cluster_id")


def test_forgetting_a_cluster(east, admin, sign_in):
    assert send(sign_in(admin), "delete", "clusters/east/").status_code == 204
    assert not Cluster.objects.exists()


# --- reading ---


@pytest.mark.parametrize("path", ["clusters/nowhere/", "topics/?cluster=nowhere"])
def test_an_unknown_cluster_is_not_found(east, viewer, sign_in, path):
    answer = sign_in(viewer).get(api(path))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_rows_of_one_cluster(east, viewer, sign_in):
    make_seen(make_cluster("west"))
    found = sign_in(viewer).get(api("topics/?cluster=west")).json()["results"]
    assert [row["cluster"] for row in found] == ["west"]


def test_partitions_are_narrowed_to_a_severity(east, viewer, sign_in):
    east.partitions.update(severity=Severity.OFFLINE)
    client = sign_in(viewer)
    offline = client.get(api("partitions/?severity=offline")).json()["results"]
    assert [row["severity"] for row in offline] == ["offline"]
    assert client.get(api("partitions/?severity=ok")).json()["results"] == []


def test_a_filter_that_does_not_exist_is_refused(east, viewer, sign_in):
    answer = sign_in(viewer).get(api("partitions/?severity=terrible"))
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["severity"])


@pytest.mark.parametrize("group_id", ["billing", "team a/billing v2", "Zürich & Söhne"])
def test_offsets_of_a_group_with_any_name(east, viewer, sign_in, group_id):
    Group.objects.update(group_id=group_id)
    query = {"cluster": "east", "group": group_id}
    found = sign_in(viewer).get(api("group-offsets/"), query).json()["results"]
    assert [row["group"] for row in found] == [group_id]


def test_pages_of_a_list_hold_every_row_once(east, viewer, sign_in):
    topic = Topic.objects.get()
    topic.partitions.all().delete()
    make_seen(make_cluster("west"), partitions=120)
    client, path, seen = sign_in(viewer), api("partitions/?cluster=west&limit=50"), []
    while path:
        answer = client.get(path).json()
        seen += [row["partition"] for row in answer["results"]]
        path = answer["next"]
    assert seen == list(range(120))


@pytest.mark.parametrize("path", LISTS)
def test_lists_take_as_many_queries_for_one_row_as_for_three_hundred(east, viewer, sign_in, path):
    client = sign_in(viewer)
    one = count_queries(client, api(f"{path}/?limit=500"))
    for i in range(10):
        make_seen(make_cluster(f"more-{i}"), topics=30, groups=30)
    assert count_queries(client, api(f"{path}/?limit=500")) == one


def count_queries(client, path):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_a_cluster_in_use_names_the_flows_that_the_person_may_see_and_counts_the_others(client, db):
    seen = make_flow("to west", source="east", target="west")
    make_flow("to dark", source="east", target="dark")
    ada = make_person("ada", east="admin", west="viewer")
    client.force_login(ada)
    answer = client.delete("/api/v1/clusters/east/")
    assert answer.status_code == 409
    text = answer.content.decode()
    assert "used by to west and 1 other replication flow that you may not see" in text
    seen.delete()
    text = client.delete("/api/v1/clusters/east/").content.decode()
    assert "used by 1 replication flow that you may not see" in text
    assert "dark" not in text
