"""A sender that is paused for a commit says so, and lets go who waits for its end."""

import asyncio
import time

from jobs.replication.copy.batches.produce import Sender, Window
from jobs.replication.copy.quotas import Quotas


def idle_sender():
    """Without partitions nothing is ever sent, so neither a cluster nor a delivery is queried."""
    return Sender(None, [], None, Window(), Quotas(time.monotonic))


async def test_it_is_paused_during_a_commit_only():
    sender = idle_sender()
    seen = [sender.is_paused]
    async with sender.paused():
        seen.append(sender.is_paused)
    assert [*seen, sender.is_paused] == [False, True, False]


async def test_who_waits_for_the_end_of_a_commit_continues_then():
    sender = idle_sender()
    async with sender.paused():
        waiting = asyncio.create_task(sender.opened())
        await asyncio.sleep(0)
        assert not waiting.done()
    await asyncio.wait_for(waiting, 10)


async def test_there_is_no_wait_without_a_commit():
    await asyncio.wait_for(idle_sender().opened(), 10)
