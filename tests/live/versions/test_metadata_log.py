"""The metadata log of each version with KRaft: followed, read as files, and told as Kafka's tools tell it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from jobs.commands.quorum.voters import read_timeline
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log.importer import import_folder
from jobs.quorum.log.source import MetadataSource
from jobs.quorum.voters.report import report
from jobs.wire.metadata.log import LogRecord, read_log
from jobs.wire.metadata.records import redact
from tests.jobs.wire.kraft_dump import parse_dump
from tests.live.kafka_tools import LOG, image, run_tool, tool_says_with
from tests.live.quorum.quorums import assert_same_bytes, following
from tests.live.topics import delete_topic, new_topic, set_config
from tests.live.versions.versions import DUMP, TOPICS, having, tool_class
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)
METADATA = "--cluster-metadata-decoder"
# What brings many kinds of records and a snapshot into a log within seconds.
TELLS_ENDPOINTS = (3, 9)


def write_history(cluster) -> str:
    """Make and change topics; returns one that stays."""
    topic = new_topic(cluster, 2, cleanup_policy="compact")
    set_config(cluster, topic, "max.message.bytes", "1234567")
    delete_topic(cluster, new_topic(cluster))
    return topic


@having(zookeeper=False)
@pytest.mark.capability("Metadata log followed")
def test_the_log_is_followed_byte_for_byte_from_the_controllers(cluster, version, tmp_path):
    write_history(cluster)
    brokers = cluster.connection
    servers = cluster.plan.address("CONTROLLER", 1)
    told = version.number >= TELLS_ENDPOINTS
    controllers = None if told else replace(brokers, bootstrap_servers=servers)
    with following(MetadataSource(brokers, controllers), tmp_path / "a") as followed:
        followed.wait_for(max(end_of(cluster), 10))
    assert {one.mode.value for one in followed.heard} == {"log"}
    assert assert_same_bytes(tmp_path / "a", cluster.node(1)) > 0
    assert (read_manifest(tmp_path / "a").missing, followed.folder.exists()) == ((), True)


def end_of(cluster) -> int:
    records = list(read_folder(cluster.node(1).plan.data / LOG).records())
    return records[-1].offset


@having(zookeeper=False)
@pytest.mark.capability("Metadata log dumped")
def test_records_are_those_of_the_versions_own_kafka_dump_log(cluster, tmp_path):
    write_history(cluster)
    folder = cluster.node(1).plan.data / LOG
    copy = shutil.copytree(folder, tmp_path / LOG, ignore=shutil.ignore_patterns("*index"))
    files = sorted(path for path in copy.iterdir() if path.suffix in {".log", ".checkpoint"})
    main = tool_class(cluster.jvm.class_path, DUMP)
    names = ",".join(map(str, files))
    dumped = parse_dump(run_tool(cluster.jvm, tmp_path, main, METADATA, "--files", names))
    kinds = set()
    for path in files:
        ours = [
            (one.offset, one.timestamp_ms, one.type, one.data)
            for one in read_log(path.read_bytes(), strict=True)
        ]
        theirs = dumped[path.name].records
        kinds |= {kind for *_, kind, _ in theirs}
        # Before Kafka 3.5 the tool does not tell what control records hold.
        told = [
            (*one[:3], our[3] if one[3] is None else redact(one[2], one[3]))
            for our, one in zip(ours, theirs, strict=True)
        ]
        assert ours == told
    assert {"PARTITION_RECORD", "CONFIG_RECORD", "REMOVE_TOPIC_RECORD"} <= kinds
    assert {"REGISTER_BROKER_RECORD", "LEADER_CHANGE", "FEATURE_LEVEL_RECORD"} <= kinds


@having(zookeeper=False)
@pytest.mark.capability("State from the metadata log")
def test_the_state_is_that_of_the_versions_own_kafka_topics(cluster):
    topic = write_history(cluster)
    main = tool_class(cluster.jvm.class_path, TOPICS)
    state = image(cluster, 1)
    ours = {
        (one.name, number): (one_state.leader, tuple(one_state.replicas), tuple(one_state.isr))
        for one, number, one_state in state.partition_rows()
    }
    theirs = {
        where: (told.leader, told.replicas, told.isr)
        for where, told in tool_says_with(cluster, main).items()
    }
    assert ours == theirs
    assert {number for name, number in ours if name == topic} == {0, 1}
    changes = read_changes(read_folder(cluster.node(1).plan.data / LOG).records())
    causes = {str(one.cause) for one in changes if getattr(one, "topic", "") == topic}
    assert causes


@having(zookeeper=False)
@pytest.mark.capability("Voter history")
def test_voters_are_known_by_their_ids_and_by_their_directories_where_the_log_has_them(
    cluster, version
):
    timeline = read_timeline(read_folder(cluster.node(1).plan.data / LOG))
    found = report(read_folder(cluster.node(1).plan.data / LOG), timeline)
    assert '"id": 1' in json.dumps(found), found


def only_the_log(folder: str, names: list[str]) -> set[str]:
    """Leave out of a node's log directory what its other threads rename and delete meanwhile."""
    kept = {LOG, "meta.properties"} if not folder.endswith(LOG) else set(names)
    return {name for name in names if name not in kept or name.endswith("index")}


@having(zookeeper=False)
@pytest.mark.capability("Metadata log uploaded")
def test_a_nodes_log_directory_is_imported_without_damage(cluster, tmp_path):
    write_history(cluster)
    data = cluster.node(1).plan.data
    copy = shutil.copytree(data, tmp_path / "data", ignore=only_the_log)
    with LogArchive(tmp_path / "files") as archive:
        found = import_folder(copy, archive, now_ms=1)
    assert (found.problems, found.conflicts) == ((), 0)
    records = list(read_folder(tmp_path / "files").records())
    assert all(isinstance(one, LogRecord) for one in records)
    eventually(lambda: len(records) > 10)
