"""Bounded waits for coroutines that run until they are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


async def wait_up_to(coming: Awaitable[object], longest_s: float) -> None:
    """Wait for something, but no longer than `longest_s`; what it brings is dropped.

    Not `asyncio.wait_for`: on Python 3.11 that drops a cancellation which comes in the moment when the wait
    is over, and a loop of waits is then never ended.
    """
    try:
        async with asyncio.timeout(longest_s):
            await coming
    except TimeoutError:
        pass
