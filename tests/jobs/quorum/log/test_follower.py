"""A live quorum is followed across everything that happens to it; without the right it is polled."""

import asyncio
import contextlib
import json
import threading
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.quorum import NoQuorum
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, NotAuthorized
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.follower import Heard, Mode, catch_up, follow
from jobs.quorum.log.polling import LOST
from jobs.quorum.log.source import MetadataSource
from tests.jobs.cluster.admin.test_quorum import answer as quorum_answer
from tests.jobs.cluster.admin.test_quorum import partition, v2
from tests.jobs.cluster.protocol.fake_broker import FETCH, OFFERED, PATIENT, Close, FakeBroker
from tests.jobs.cluster.protocol.fake_controller import DESCRIBE_QUORUM, controllers, log_answer
from tests.jobs.quorum.metadata_logs import Leader, archived
from tests.support import Clock
from tests.waiting import eventually_async

LOG = ((0, 1, 3), (3, 1, 1))


def source_of(*servers: FakeBroker, **settings) -> MetadataSource:
    text = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    return MetadataSource(Connection("east", text, **settings))


def described(*made: FakeBroker, **fields):
    """Return what DescribeQuorum says when these are the controllers."""
    nodes = tuple(
        v2.Node(
            node_id=one.broker_id,
            listeners=(v2.Listener(name="CONTROLLER", host="127.0.0.1", port=one.port),),
        )
        for one in made
    )
    found = quorum_answer(partition(**fields))
    return v2.DescribeQuorumResponse(
        error_code=found.error_code, error_message=None, topics=found.topics, nodes=nodes
    )


@contextlib.asynccontextmanager
async def cluster(count=1, *, batches=LOG):
    """Start a broker and controllers that know of each other; the first controller leads."""
    async with controllers(count) as made, FakeBroker(9) as broker:
        leader = Leader(made[0], *batches)
        broker.offered = OFFERED | {DESCRIBE_QUORUM: (0, 2)}
        broker.answers[DESCRIBE_QUORUM] = described(*made)
        broker.answers[FETCH] = log_answer(error="unknown_topic_id")
        yield broker, made, leader


@contextlib.asynccontextmanager
async def followed(source, folder, timing=PATIENT):
    """Follow in a thread, as everybody does; yields what was heard so far."""
    heard: list[Heard] = []
    stop = threading.Event()

    def run():
        with LogArchive(folder) as archive:
            follow(source, archive, stop, heard.append, timing=timing)

    thread = asyncio.create_task(asyncio.to_thread(run))
    try:
        yield heard
    finally:
        stop.set()
        await thread


async def test_the_controllers_are_found_through_the_brokers(tmp_path):
    async with cluster() as (broker, _, leader), followed(source_of(broker), tmp_path):
        await eventually_async(lambda: archived(tmp_path) == leader.content())


async def test_the_bootstrap_servers_may_be_controllers_that_describe_nothing(tmp_path):
    async with cluster() as (_, made, leader):
        refused = quorum_answer(error=ErrorCode.cluster_authorization_failed)
        made[0].answers[DESCRIBE_QUORUM] = refused
        async with followed(source_of(*made), tmp_path):
            await eventually_async(lambda: archived(tmp_path) == leader.content())


async def test_controllers_may_have_settings_of_their_own(tmp_path):
    async with cluster() as (broker, made, leader):
        broker.answers[DESCRIBE_QUORUM] = described()
        source = MetadataSource(source_of(broker).connection, source_of(*made).connection)
        async with followed(source, tmp_path):
            await eventually_async(lambda: archived(tmp_path) == leader.content())


async def test_what_is_written_meanwhile_comes_too(tmp_path):
    async with cluster() as (broker, _, leader), followed(source_of(broker), tmp_path) as heard:
        await eventually_async(lambda: any(one.is_at_end for one in heard))
        leader.write((4, 1, 1))
        await eventually_async(lambda: archived(tmp_path) == leader.content())


async def test_a_new_leader_is_followed(tmp_path):
    async with cluster(2) as (broker, made, old), followed(source_of(broker), tmp_path) as heard:
        await eventually_async(lambda: any(one.is_at_end for one in heard))
        await made[0].stop()
        new = Leader(made[1], *LOG, (4, 2, 1), epoch=2)
        await eventually_async(lambda: archived(tmp_path) == new.content())
        assert any(one.fault is None for one in heard[-1:])
        assert old.content() in new.content()


async def test_faults_are_reported_and_following_continues(tmp_path):
    async with cluster() as (broker, made, leader):
        made[0].answers[FETCH] = log_answer(error="not_leader_or_follower", leader=(-1, 0))
        async with followed(source_of(broker), tmp_path) as heard:
            await eventually_async(lambda: any(one.fault for one in heard))
            made[0].answers[FETCH] = leader.answer
            await eventually_async(lambda: archived(tmp_path) == leader.content())


async def test_who_hears_is_called_outside_of_the_loop(tmp_path):
    inside = []

    def heard(_):
        with contextlib.suppress(RuntimeError):
            inside.append(asyncio.get_running_loop())
        stop.set()

    stop = threading.Event()
    async with cluster() as (broker, _, _):
        with LogArchive(tmp_path) as archive:
            await asyncio.to_thread(follow, source_of(broker), archive, stop, heard, timing=PATIENT)
    assert inside == []


async def test_what_was_followed_is_lasting_at_the_end(tmp_path):
    async with cluster() as (broker, _, leader):
        async with followed(source_of(broker), tmp_path) as heard:
            await eventually_async(lambda: any(one.is_at_end for one in heard))
        manifest = read_manifest(tmp_path)
        assert (manifest.next_offset, manifest.high_watermark) == (leader.end, leader.end)


async def test_catching_up_ends_at_what_is_committed(tmp_path):
    async with cluster() as (broker, _, leader):
        leader.high_watermark = 3
        with LogArchive(tmp_path) as archive:
            count = await asyncio.to_thread(catch_up, source_of(broker), archive, timing=PATIENT)
        assert (count, archived(tmp_path)) == (1, leader.batches[0])


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param({"whole": "cluster_authorization_failed"}, id="CLUSTER_ACTION is missing"),
        pytest.param({"error": "unknown_topic_id"}, id="only brokers can be reached"),
    ],
)
async def test_without_the_log_the_quorum_is_polled_and_the_loss_is_said(refusal, tmp_path):
    async with cluster() as (broker, made, _):
        made[0].answers[FETCH] = log_answer(**refusal)
        async with followed(source_of(broker), tmp_path) as heard:
            await eventually_async(lambda: any(one.quorum for one in heard))
        told = next(one for one in heard if one.quorum)
        assert (told.mode, told.lost, told.is_news) == (Mode.POLLING, LOST, True)
        assert told.fault is not None
        assert told.quorum.leader_id == 2
        (line,) = (tmp_path / "quorum-polls.jsonl").read_text().splitlines()
        assert json.loads(line)["brokers"] == [9]


async def test_controllers_behind_a_firewall_are_left_to_polling_until_they_answer(tmp_path):
    clock = Clock()
    async with cluster() as (broker, made, leader):
        made[0].answers[FETCH] = Close
        timing = replace(PATIENT, clock=clock)
        async with followed(source_of(broker), tmp_path, timing=timing) as heard:
            await eventually_async(lambda: any(one.fault for one in heard))
            clock.now += 16
            await eventually_async(lambda: any(one.quorum for one in heard))
            made[0].answers[FETCH] = leader.answer
            clock.now += 6
            await eventually_async(lambda: archived(tmp_path) == leader.content())
        assert heard[0].quorum is None
        assert (heard[-1].mode, heard[-1].lost) == (Mode.LOG, ())


async def test_controllers_that_serve_no_log_are_polled_themselves(tmp_path):
    async with cluster() as (_, made, _):
        made[0].answers[FETCH] = log_answer(whole="cluster_authorization_failed")
        made[0].answers[DESCRIBE_QUORUM] = described(*made)
        async with followed(source_of(*made), tmp_path) as heard:
            await eventually_async(lambda: any(one.quorum for one in heard))
        (line,) = (tmp_path / "quorum-polls.jsonl").read_text().splitlines()
        assert json.loads(line)["brokers"] == []


async def test_catching_up_does_not_poll(tmp_path):
    async with cluster() as (broker, made, _):
        made[0].answers[FETCH] = log_answer(whole="cluster_authorization_failed")
        with LogArchive(tmp_path) as archive, pytest.raises(NotAuthorized):
            await asyncio.to_thread(catch_up, source_of(broker), archive, timing=PATIENT)


async def test_another_cluster_behind_the_same_address_is_refused(tmp_path):
    async with cluster() as (broker, made, _):
        made[0].answers[FETCH] = log_answer(whole="inconsistent_cluster_id")
        source = source_of(broker, cluster_id="the-cluster")
        with LogArchive(tmp_path) as archive, pytest.raises(ClusterIdChanged):
            await asyncio.to_thread(catch_up, source, archive, timing=PATIENT)
        assert made[0].of(FETCH)[0].cluster_id == "the-cluster"


async def test_an_archive_takes_one_clusters_log_only(tmp_path):
    async with cluster() as (broker, _, _):
        with LogArchive(tmp_path) as archive:
            archive.note(cluster_id="another")
            source = source_of(broker, cluster_id="the-cluster")
            with pytest.raises(ClusterIdChanged, match="another"):
                await asyncio.to_thread(catch_up, source, archive, timing=PATIENT)


async def test_a_cluster_with_zookeeper_has_no_log_to_follow(tmp_path):
    async with cluster() as (broker, _, _):
        broker.offered = OFFERED
        with LogArchive(tmp_path) as archive, pytest.raises(ClusterFault, match="ZooKeeper"):
            await asyncio.to_thread(catch_up, source_of(broker), archive, timing=PATIENT)


async def test_following_what_can_never_be_followed_ends_with_the_reason_after_one_try(tmp_path):
    async with cluster() as (broker, _, _):
        broker.offered = OFFERED
        with pytest.raises(NoQuorum):
            async with followed(source_of(broker), tmp_path) as heard:
                await eventually_async(lambda: heard)
        assert [type(one.fault) for one in heard] == [NoQuorum]


async def test_a_right_that_is_missing_everywhere_is_waited_for(tmp_path):
    async with cluster() as (broker, made, _):
        refused = quorum_answer(error=ErrorCode.cluster_authorization_failed)
        made[0].answers[FETCH] = log_answer(whole="cluster_authorization_failed")
        broker.answers[DESCRIBE_QUORUM] = made[0].answers[DESCRIBE_QUORUM] = refused
        async with followed(source_of(broker), tmp_path) as heard:
            await eventually_async(lambda: any(one.fault for one in heard))
        assert all(isinstance(one.fault, NotAuthorized) for one in heard)
