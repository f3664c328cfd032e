"""What a real MirrorMaker 2 does with overridden aliases and with blanks is what crosslog reads."""

import pytest

from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.lab.properties import render
from jobs.replication.mirror_config.naming import topic_names
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.text_input import InputFile
from tests.live.mirror_maker.mirrored import records_on
from tests.live.records import produce
from tests.live.topics import new_topic, partitions_of
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

SLOW_S = 180
# The blank behind true: the flow is started for its heartbeats, and its connectors are enabled.
EMPTY = {
    "east->west.enabled": "true ",
    "source.cluster.alias": "",
    "target.cluster.alias": "",
    "replication.policy.separator": "",
}
WORD = {
    "enabled": "true ",
    "east->west.enabled": "true ",
    "west->east.emit.heartbeats.enabled": "false ",
    "east.alias": "hall ",
    "replication.policy.internal.topic.separator.enabled": "true ",
    "replication.policy.separator": "_",
    "offset-syncs.topic.location": "target ",
}


@pytest.mark.parametrize("settings", [EMPTY, WORD], ids=["empty aliases", "a word for an alias"])
def test_topics_are_called_as_crosslog_says(east, west, kafka, tmp_path, settings):
    topic = new_topic(east)
    produce(east, topic, 5)
    clusters = ("east", east.bootstrap_servers), ("west", west.bootstrap_servers)
    extra = {"east->west.topics": topic, "emit.checkpoints.interval.seconds": "1", **settings}
    properties = mirror_properties(*clusters, extra)
    (deployment,) = read_config(
        [InputFile("mm2.properties", render(properties).encode())]
    ).deployments
    flow = next(flow for flow in deployment.flows if flow.name == "east->west")
    names = topic_names(flow)
    assert flow.is_enabled
    mirror = MirrorMaker(tmp_path / "mm2", kafka, properties)
    mirror.start()
    try:
        remote = names.remote_orders.replace("orders", topic)
        eventually(lambda: mirror.check() or records_on(west, remote) == 5, SLOW_S)
        syncs_on = east if names.offset_syncs_on == "east" else west
        assert partitions_of(syncs_on, names.offset_syncs) == 1
        eventually(lambda: partitions_of(west, names.checkpoints) == 1, SLOW_S)
    finally:
        mirror.kill()
