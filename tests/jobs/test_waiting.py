"""A wait with an end gives in to a cancellation, whenever it comes."""

import asyncio
import time

import pytest

from jobs.waiting import wait_up_to


async def waits_again_and_again(event: asyncio.Event, longest_s: float) -> None:
    while True:
        await wait_up_to(event.wait(), longest_s)
        event.clear()


async def is_cancelled_after(steps: int) -> bool:
    """Cancel so many turns of the event loop after what is waited for; return whether that ended it."""
    event = asyncio.Event()
    task = asyncio.create_task(waits_again_and_again(event, 3600))
    await turns(5)
    event.set()
    await turns(steps)
    task.cancel()
    await asyncio.wait([task], timeout=5)
    return task.cancelled()


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def ends(event: asyncio.Event, longest_s: float) -> None:
    await wait_up_to(event.wait(), longest_s)


def test_it_ends_when_the_time_is_over():
    began = time.monotonic()
    asyncio.run(ends(asyncio.Event(), 0.05))
    assert time.monotonic() - began > 0.04


def test_it_ends_with_what_it_waits_for():
    event = asyncio.Event()
    event.set()
    asyncio.run(ends(event, 3600))


@pytest.mark.parametrize("steps", range(5))
def test_a_cancellation_in_the_moment_of_the_end_is_not_lost(steps):
    assert asyncio.run(is_cancelled_after(steps))
