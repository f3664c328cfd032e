"""The lab's Streams applications: they run, and their doors say what their JVMs know."""

import re

import pytest

from jobs.lab.daemon import LabDaemon
from jobs.lab.streams.application import OWN_DOOR
from jobs.lab.streams.settled import KEYS, STATEFUL, STATELESS, hosts, tasks
from tests.live.streams.applications import wait_until_settled

pytestmark = pytest.mark.timeout(900)

STORES = ["customers", "orders-per-minute", "totals-by-customer"]
QUESTIONS = [
    "ts",
    "state",
    "applicationId",
    "applicationServer",
    "metadataForAllStreamsClients",
    "streamsMetadataForStore",
    "metadataForLocalThreads",
    "allLocalStorePartitionLags",
    "queryMetadataForKey",
    "localGet",
]
UNAVAILABLE = "unavailable:-1"


def uuid_of(inside) -> str:
    """The process id of Kafka Streams, out of the name of a thread."""
    found = re.search(
        r"-([0-9a-f-]{36})-StreamThread-", inside["metadataForLocalThreads"][0]["name"]
    )
    assert found
    return found[1]


def test_the_door_answers_every_question(classic_two_instances):
    inside = classic_two_instances.instances["A1"].inside(KEYS)
    assert list(inside) == QUESTIONS
    assert (inside["state"], inside["applicationServer"]) == ("RUNNING", "h1.example:7071")
    one = hosts(inside)["h2.example:7072"]
    assert (one["stores"], one["standbyStores"]) == (sorted([*STORES, "regions"]), STORES)
    assert {"orders:1", "orders-app-by-product-repartition:1"} <= {
        where for host in hosts(inside).values() for where in host["topicPartitions"]
    }
    assert sorted(inside["streamsMetadataForStore"]) == STORES
    assert sorted(inside["allLocalStorePartitionLags"]) == STORES
    current, end, lag = inside["allLocalStorePartitionLags"]["totals-by-customer"]["0"]
    assert end - current == lag
    task = inside["metadataForLocalThreads"][0]["active"][0]
    assert sorted(task["committed"]) == sorted(task["end"]) == task["topicPartitions"]


def test_the_topology_has_the_two_repartition_topics(classic_two_instances):
    said = classic_two_instances.instances["A1"].topology()
    for line in ("(topic: by-customer-repartition)", "(topic: by-product-repartition)"):
        assert line in said
    assert "(stores: [totals-by-customer])" in said
    assert "3 for global store" in said


def test_a_standby_is_never_beside_its_active_task(classic_two_instances):
    for inside in classic_two_instances.inside().values():
        active, standby = tasks(inside, "active"), tasks(inside, "standby")
        assert set(active).isdisjoint(standby)
        assert set(active) | set(standby) >= STATEFUL


def test_both_instances_name_the_one_that_really_serves_a_key(classic_two_instances):
    found = classic_two_instances.inside(KEYS)
    served_by = {key: one["applicationServer"] for one in found.values() for key in one["localGet"]}
    for inside in found.values():
        named = {key: active for key, (active, _, _) in inside["queryMetadataForKey"].items()}
        assert named == served_by


def test_an_instance_without_an_endpoint_leads_keys_of_all_instances_astray(one_without_endpoint):
    found = one_without_endpoint.inside(KEYS)
    assert found["B1"]["applicationServer"] is None
    for inside in found.values():
        named = {key: active for key, (active, _, _) in inside["queryMetadataForKey"].items()}
        assert UNAVAILABLE in named.values()
        wrong = [key for key, active in named.items() if active != UNAVAILABLE]
        assert not set(wrong) <= set(found["B2"]["localGet"])


def test_a_streams_group_has_the_standbys_of_its_own_setting(streams_two_threads):
    found = streams_two_threads.inside()
    assert sorted(task for one in found.values() for task in tasks(one, "standby")) == sorted(
        STATEFUL
    )
    for inside in found.values():
        assert [thread["state"] for thread in inside["metadataForLocalThreads"]] == ["RUNNING"] * 2


def test_the_other_instance_takes_over_and_a_restarted_one_is_the_same_process(fresh_pair):
    killed, other = fresh_pair.instances["D1"], fresh_pair.instances["D2"]
    before = uuid_of(killed.inside())
    killed.kill()
    wait_until_settled(fresh_pair, standbys=0)
    assert tasks(other.inside(), "active") == sorted(STATELESS | STATEFUL)
    killed.endpoint = OWN_DOOR
    killed.start()
    fresh_pair.wait_until_running()
    inside = killed.inside()
    assert uuid_of(inside) == before
    assert inside["applicationServer"] == f"127.0.0.1:{killed.port}"


def test_the_keeper_of_a_lab_starts_one_application_of_two_instances(streams_lab):
    keeper = LabDaemon(streams_lab)
    started = keeper.start_streams()["streams"]
    assert len(started) == 2
    assert keeper.start_streams()["streams"] == started == keeper.status()["streams"]
    keeper.streams.kill()
    assert keeper.status()["streams"] == []
