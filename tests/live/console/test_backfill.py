"""A running console fills the archive of a flow's offset syncs, while its follower waits."""

import pytest

from jobs.archives import ArchiveBusy, lock_archive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import open_parts
from jobs.replication.offset_syncs.archive_manifest import read_manifest
from jobs.spark import submit
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from tests.live.console.test_analyses import answer
from tests.live.records import Record, write
from tests.live.topics import make_topic
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(600)
NAME = "filled by hand"
FILLED = TopicPartition("filled", 0)
COUNT = 3_000
# The follower looks every two seconds.
FOLLOWED_WITHIN_S = 60


def syncs(first: int, count: int) -> list[Record]:
    told = [
        OffsetSync("filled", 0, 10 * at, 10 * at + at // 100) for at in range(first, first + count)
    ]
    return [Record(0, *encode_offset_sync(one)) for one in told]


@pytest.fixture
def flow(registered, east, west):
    """A flow of a MirrorMaker 2 that is told of, and the topic that it would write."""
    topic = "mm2-offset-syncs.east.internal"
    make_topic(west, topic)
    write(west, topic, syncs(0, COUNT))
    values = {"name": NAME, "source": "east", "target": "west", "topics": ["filled"]}
    values |= {"copied_by": "mirror_maker", "offset_syncs": "target"}
    made = registered.visitor.post("api/v1/flows/", values)
    yield registered.home / "archive" / "syncs" / str(made["id"]), topic
    registered.visitor.delete(f"api/v1/flows/{made['id']}/")
    for engine in (registered.home / "runs").glob("engine-*"):
        submit.request_stop(engine)
        eventually(lambda engine=engine: not submit.is_alive(engine), 60)


def is_locked(archive) -> bool:
    try:
        lock_archive(archive).close()
    except ArchiveBusy:
        return True
    return False


def test_a_backfill_takes_over_from_the_follower_and_gives_the_archive_back(registered, west, flow):
    archive, topic = flow

    # Flows of other tests may have told of themselves in the same topic.
    def has_read(count: int) -> bool:
        return len(open_parts(archive).rows(FILLED).upstream) >= count

    eventually(lambda: has_read(COUNT), FOLLOWED_WITHIN_S)
    assert is_locked(archive)
    facts = answer(registered.visitor, "backfill", flow=NAME)["facts"]
    known = read_manifest(archive)
    assert (facts["syncs_read"], facts["syncs_in_archive"]) == (0, known.sync_count)
    assert facts["topic_end_offset"] == known.next_offset
    eventually(lambda: is_locked(archive), FOLLOWED_WITHIN_S)
    write(west, topic, syncs(COUNT, 7))
    eventually(lambda: has_read(COUNT + 7), FOLLOWED_WITHIN_S)
