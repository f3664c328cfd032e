"""A real MirrorMaker 2 is observed: its lag, its offset syncs, and what is wrong with its configuration."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.lab.mirror_maker import MirrorMaker, beside_properties
from jobs.lab.properties import render
from tests.live.groups import commit, new_group
from tests.live.mirror_maker.mirrored import places, produce_identified
from tests.waiting import eventually

pytestmark = pytest.mark.journey
RECORDS = 2_000
COPIED_WITHIN_S = 60
# As people write it; MirrorMaker 2 ignores it without a word.
OF_THE_WORKER = "east->west.offset.flush.interval.ms"
# Everything that MirrorMaker 2 does at intervals comes within seconds.
QUICK = {
    "east->west.emit.checkpoints.interval.seconds": "1",
    "east->west.sync.group.offsets.interval.seconds": "1",
    "refresh.topics.interval.seconds": "5",
    "refresh.groups.interval.seconds": "2",
    "west.offset.flush.interval.ms": "1000",
    OF_THE_WORKER: "1000",
}


@pytest.fixture
def mirrored(world, tmp_path):
    """A topic that MirrorMaker 2 copies, and MirrorMaker 2 itself."""
    topic = world.topic("mm2")
    produce_identified(world.east, topic, RECORDS)
    servers = [("east", world.east.bootstrap_servers), ("west", world.west.bootstrap_servers)]
    properties = beside_properties(*servers, topic) | QUICK
    properties["east->west.groups"] = f"{topic}.*"
    mirror = MirrorMaker(tmp_path / "mm2", world.lab.jvm, properties, heap="256m")
    mirror.start()
    yield topic, mirror
    mirror.kill()


def test_what_mirror_maker_copies_is_measured_and_translated_as_its_records_are(world, mirrored):
    topic, mirror = mirrored
    assert_its_configuration_is_explained(world, mirror)
    group = new_group(topic)
    commit(world.east, group, {TopicPartition(topic, 0): RECORDS // 2})
    watched = {"copied_by": "mirror_maker", "offset_syncs": "source", "groups": [group]}
    with world.flow(topic, start=False, **watched) as flow:
        flow.wait_for_positions({0: RECORDS}, COPIED_WITHIN_S)
        eventually(lambda: flow.shown()["lag"] == 0, 30, every=0.3)
        eventually(lambda: translated(flow, topic, RECORDS - 200)["lo"] is not None, 30, every=0.3)
        where = dict(places(world.west, f"east.{topic}"))
        for offset in range(0, RECORDS, 97):
            told = translated(flow, topic, offset)
            lo, hi = told["lo"], told["hi"]
            assert (lo or 0) <= where[offset] <= (where[offset] if hi is None else hi), told


def assert_its_configuration_is_explained(world, mirror: MirrorMaker) -> None:
    """Each finding names the line of the setting that it is about."""
    text = render(mirror.properties)
    files = [{"name": "mm2.properties", "text": text}]
    findings = world.post("mirror-config/", {"files": files})["findings"]
    lines = dict(enumerate(text.splitlines(), 1))
    named = {
        (one["code"], lines[int(one["where"].partition(":")[2])].partition("=")[0])
        for one in findings
        if ":" in one["where"]
    }
    assert ("refresh-often", "refresh.topics.interval.seconds") in named
    assert ("single-copy", "replication.factor") in named
    assert ("worker-key", OF_THE_WORKER) in named


def translated(flow, topic: str, offset: int) -> dict:
    place = f"topic={topic}&partition=0&offset={offset}"
    return dict(flow.world.get(f"flows/{flow.id}/translate/?{place}"))
