"""Offset syncs are followed across what passes; what never will ends the following with the reason."""

import asyncio
import struct
import threading

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import SyncsPlace, follow
from tests.jobs.cluster.protocol.fake_broker import API_VERSIONS, FakeBroker
from tests.waiting import eventually_async

OLDER_THAN_2_4 = struct.pack(">iihi", 10, 1, 35, 0)
TOPIC = "mm2-offset-syncs.west.internal"


async def test_what_can_never_be_followed_ends_with_the_reason_after_one_try(tmp_path):
    async with FakeBroker() as broker:
        broker.answers[API_VERSIONS] = OLDER_THAN_2_4
        place, heard = SyncsPlace(broker.connection, TOPIC), []

        def run():
            with SyncArchive(tmp_path) as archive:
                follow(place, archive, threading.Event(), heard.append)

        with pytest.raises(VersionNotOffered, match=r"older than Kafka 2\.4"):
            await asyncio.to_thread(run)
        assert [type(one.fault) for one in heard] == [VersionNotOffered]
        assert broker.connections <= 2


async def test_a_cluster_that_is_down_is_waited_for(tmp_path):
    stop, heard = threading.Event(), []

    def run():
        with SyncArchive(tmp_path) as archive:
            follow(
                SyncsPlace(Connection("east", "127.0.0.1:1"), TOPIC), archive, stop, heard.append
            )

    following = asyncio.create_task(asyncio.to_thread(run))
    await eventually_async(lambda: len(heard) > 2)
    stop.set()
    await following
    assert all(one.fault.retriable for one in heard)
