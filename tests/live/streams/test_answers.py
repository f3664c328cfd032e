"""What crosslog says of real applications is what their JVMs say, or else what they really serve."""

import json

import pytest

from jobs.cli import main
from jobs.cluster.client import ClusterClient
from jobs.lab.streams.application import StreamsApplication
from jobs.lab.streams.settled import KEYS, STORE
from jobs.streams.answers import all_metadata, metadata_for_key
from jobs.streams.application import Application, Confidence, Role
from jobs.streams.assembly import application_of
from jobs.streams.collection.changelog_search import SoughtKey, key_in_changelog
from jobs.streams.lag import input_lags
from jobs.streams.metadata_state import MetadataState, NotKnowable, metadata_state
from tests.live.streams.applications import connection_file
from tests.live.streams.outside import both_sides, seen
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

BUDGET_S = 30.0


def texts(places):
    return {one.replace(":", "-") for one in places}


def answers_of(state: MetadataState) -> dict:
    keys = {key: state.for_key(STORE, key.encode()) for key in KEYS}
    return {
        "all": {
            one.endpoint: (set(map(str, one.partitions)), set(one.stores),
                           set(map(str, one.standby_partitions)), set(one.standby_stores))
            for one in state.all()
        },
        "stores": {
            store: sorted(one.endpoint for one in state.for_store(store))
            for store in (STORE, "customers", "orders-per-minute")
        },
        "keys": {key: (one.active, sorted(one.standby), one.partition) for key, one in keys.items()},
    }  # fmt: skip


def answers_inside(jvm: dict) -> dict:
    stores = jvm["streamsMetadataForStore"]
    return {
        "all": {
            one["host"]: (texts(one["topicPartitions"]), set(one["stores"]),
                          texts(one["standbyTopicPartitions"]), set(one["standbyStores"]))
            for one in jvm["metadataForAllStreamsClients"]
        },
        "stores": {store: sorted(stores[store]) for store in (STORE, "customers", "orders-per-minute")},
        "keys": {
            key: (active, sorted(standby), partition)
            for key, (active, standby, partition) in jvm["queryMetadataForKey"].items()
        },
    }  # fmt: skip


def serving(application: StreamsApplication, inside: dict) -> dict:
    """Which endpoint can really serve each key, None: an instance that has none."""
    return {
        key: application.instances[name].endpoint
        for name, jvm in inside.items()
        for key in jvm["localGet"]
    }


def truth(application: Application) -> dict:
    found = {key: metadata_for_key(application, STORE, key.encode()).active for key in KEYS}
    return {key: one and one.process.endpoint for key, one in found.items()}


def test_a_classic_application_s_answers_are_the_jvm_s_and_all_are_right(
    streams_cluster, classic_two_instances
):
    application, inside = both_sides(streams_cluster, classic_two_instances, ["A1", "A2"])
    mine = answers_of(metadata_state(application))
    assert [answers_inside(jvm) for jvm in inside.values()] == [mine, mine]
    assert truth(application) == serving(classic_two_instances, inside)
    assert {metadata_for_key(application, STORE, key.encode()).jvm.is_right for key in KEYS} == {
        True
    }
    assert application.stores["regions"].is_global
    assert all("regions" in one.stores for one in all_metadata(application))


def test_without_a_description_the_stores_are_found_too(streams_cluster, classic_two_instances):
    application = application_of(seen(streams_cluster, classic_two_instances))
    found = {one.name: (one.subtopology, one.confidence) for one in application.stores.values()}
    assert found["customers"] == (found[STORE][0], Confidence.INFERRED)
    assert found["orders-per-minute"][0] == "2"


def test_the_answers_of_an_application_with_an_instance_without_endpoint_are_wrong_and_known(
    streams_cluster, one_without_endpoint
):
    application, inside = both_sides(streams_cluster, one_without_endpoint, ["B2"])
    assert answers_inside(inside["B2"]) == answers_of(metadata_state(application))
    assert truth(application) == serving(one_without_endpoint, inside)
    found = [metadata_for_key(application, STORE, key.encode()) for key in KEYS]
    wrong = [one for one in found if not one.jvm.is_right]
    assert wrong
    assert all(one.jvm.reason for one in wrong)
    assert found[0].jvm.misrouted == pytest.approx(len(wrong) / len(KEYS), abs=0.12)


def test_a_streams_group_with_two_threads_is_told_truly_and_its_own_answers_are_not_knowable(
    streams_cluster, streams_two_threads
):
    inside: dict = {}

    def agree() -> bool:
        application = application_of(seen(streams_cluster, streams_two_threads))
        inside.update(streams_two_threads.inside(KEYS))
        return truth(application) == serving(streams_two_threads, inside)

    eventually(agree, 60)
    application = application_of(seen(streams_cluster, streams_two_threads))
    state = metadata_state(application)
    assert isinstance(state, NotKnowable)
    assert "KAFKA-20782" in state.reason
    assert {one.confidence for one in application.stores.values()} == {Confidence.EXACT}
    assert len(application.threads) == 4
    assert len(application.processes) == 2


def test_a_task_s_lag_and_stream_time_are_known(streams_cluster, classic_two_instances):
    def told() -> bool:
        outside = seen(streams_cluster, classic_two_instances)
        lags = input_lags(application_of(outside), outside.facts)
        sources = [one for own in lags.values() for one in own if one.place.topic == "orders"]
        return len(sources) == 6 and all(
            one.stream_time_ms is not None
            and one.records is not None
            and one.at_most_ms is not None
            for one in sources
        )

    eventually(told, 60)


def test_a_key_is_in_the_changelog_s_partition_that_the_hash_says(
    streams_cluster, classic_two_instances
):
    application = application_of(seen(streams_cluster, classic_two_instances))
    found = metadata_for_key(application, STORE, KEYS[0].encode())
    sought = SoughtKey(found.key, found.partition)
    with ClusterClient(streams_cluster.connection) as client:

        def places() -> set[int]:
            search = key_in_changelog(
                client, found.store.changelog, sought, found.partitions, budget_s=BUDGET_S
            )
            return {one.partition for one in search.hits}

        # What a store has is written to its changelog with the next commit.
        eventually(lambda: places() == {found.partition}, 30)


def test_an_instance_that_is_killed_is_gone_with_its_session_and_the_other_serves_all(
    streams_cluster, fresh_pair
):
    before = application_of(seen(streams_cluster, fresh_pair))
    assert len(before.processes) == 2
    assert all(own for own in before.placements.values())
    fresh_pair.instances["D1"].kill()

    def taken_over() -> bool:
        application = application_of(seen(streams_cluster, fresh_pair))
        return len(application.processes) == 1 and set(truth(application).values()) == {
            fresh_pair.instances["D2"].endpoint
        }

    eventually(taken_over, 60)
    application = application_of(seen(streams_cluster, fresh_pair))
    assert application.processes[0].tasks(Role.STANDBY) == ()


def test_the_command_asks_a_cluster_where_a_key_is(
    streams_cluster, classic_two_instances, tmp_path, capsys
):
    path = connection_file(streams_cluster, tmp_path)
    name = classic_two_instances.settings.application_id
    asked = [
        "streams",
        path,
        "--application",
        name,
        "--store",
        STORE,
        "--key",
        KEYS[0],
        "--json",
    ]
    assert main(asked) == 0
    (told,) = json.loads(capsys.readouterr().out)["applications"]
    assert told["application"] == name
    assert told["for_key"]["active"]["endpoint"] in ("h1.example:7071", "h2.example:7072")
    assert told["for_key"]["application_answers"]["is_right"]
    assert len(told["for_store"]) == 2


def test_windows_of_a_key_are_found_in_their_changelog_by_the_key_alone(
    streams_cluster, classic_two_instances, tmp_path, capsys
):
    path = connection_file(streams_cluster, tmp_path)
    name = classic_two_instances.settings.application_id
    asked = ["streams", path, "--application", name, "--store", "orders-per-minute", "--json"]
    assert main([*asked, "--key", "product-01", "--changelog"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["applications"]
    hits = told["for_key"]["changelog"]["hits"]
    assert {one["partition"] for one in hits} == {told["for_key"]["partition"]}
    assert told["for_key"]["application_answers"]["is_right"]
