"""A capture of a real application: what crosslog makes of its outside, beside what its JVMs said inside."""

import json
from pathlib import Path

from jobs.lab.streams.settled import STORE
from jobs.streams.answers import metadata_for_key
from jobs.streams.application import Application, Protocol
from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import read_capture
from jobs.streams.metadata_state import metadata_state
from jobs.streams.topology.reading import read_description
from jobs.wire.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription


def read(folder: Path, *, described: bool = True) -> Application:
    (seen,) = read_capture(folder / "outside.json")
    text = (folder / "topology.txt").read_text(encoding="utf-8")
    return application_of(seen, read_description(text) if described else None)


def inside(folder: Path) -> list[dict]:
    return list(json.loads((folder / "inside.json").read_text(encoding="utf-8"))["before"].values())


def texts(places):
    return {place.replace(":", "-") for place in places}


def assert_all_metadata_is_that_of_every_jvm(folder: Path) -> None:
    mine = {
        one.endpoint: [set(map(str, one.partitions)), set(one.stores),
                       set(map(str, one.standby_partitions)), set(one.standby_stores)]
        for one in metadata_state(read(folder)).all()
    }  # fmt: skip
    for jvm in inside(folder):
        assert mine == {
            one["host"]: [texts(one["topicPartitions"]), set(one["stores"]),
                          texts(one["standbyTopicPartitions"]), set(one["standbyStores"])]
            for one in jvm["metadataForAllStreamsClients"]
        }  # fmt: skip


def assert_stores_and_keys_are_those_of_every_jvm(folder: Path, *, described: bool) -> None:
    state = metadata_state(read(folder, described=described))
    for jvm in inside(folder):
        for store, hosts in jvm["streamsMetadataForStore"].items():
            assert sorted(one.endpoint for one in state.for_store(store)) == sorted(hosts)
        for key, (active, standby, partition) in jvm["queryMetadataForKey"].items():
            found = state.for_key(STORE, key.encode())
            assert (found.active, sorted(found.standby), found.partition) == (
                active, sorted(standby), partition,
            )  # fmt: skip


def assert_running_tasks_are_those_of_every_jvm_s_threads(folder: Path) -> None:
    application = read(folder)
    mine = {
        thread.client_id.removesuffix("-consumer"): {str(task) for task in thread.now.active}
        for thread in application.threads
    }
    theirs = {
        thread["name"]: {task["id"] for task in thread["active"]}
        for jvm in inside(folder)
        for thread in jvm["metadataForLocalThreads"]
    }
    if application.protocol is Protocol.STREAMS:  # its members have other client ids
        assert sorted(map(sorted, mine.values())) == sorted(map(sorted, theirs.values()))
    else:
        assert mine == theirs


def assert_truth_is_who_serves_and_wrong_answers_are_found(folder: Path) -> None:
    application = read(folder)
    serving = {key: jvm["applicationServer"] for jvm in inside(folder) for key in jvm["localGet"]}
    for jvm in inside(folder):
        for key, (active, _, _) in jvm["queryMetadataForKey"].items():
            found = metadata_for_key(application, STORE, key.encode())
            assert found.active.process.endpoint == (serving[key] or None)
            assert found.jvm.is_right is (active == serving[key])
            assert bool(found.jvm.reason) is not found.jvm.is_right


def assert_members_are_read_as_kafka_reads_them(folder: Path) -> None:
    outside = json.loads((folder / "outside.json").read_text(encoding="utf-8"))
    for member in outside["describe_groups"]["members"]:
        wants = decode_consumer_subscription(bytes.fromhex(member["member_metadata_hex"]))
        expected = member["subscription"]
        assert list(wants.topics) == expected["topics"]
        assert wants.user_data.hex() == expected["user_data_hex"]
        assert (wants.version, wants.generation) == (expected["version"], expected["generation_id"])
        assert (wants.rack or None) == (expected["rack_id"] or None)
        given = decode_consumer_assignment(bytes.fromhex(member["member_assignment_hex"]))
        expected = member["assignment"]
        assert given.user_data.hex() == expected["user_data_hex"]
        assert {topic for topic, _ in given.assigned} <= {
            one["topic"] if isinstance(one, dict) else one[0] for one in expected["assigned"]
        }
