"""Run `async def` tests: each in an event loop of its own, with an end."""

import asyncio
import inspect

from tests.waiting import PATIENCE

LONGEST_S = 120 * PATIENCE


def run_coroutine_test(pyfuncitem) -> bool | None:
    """Run a test that is a coroutine; None leaves any other test to pytest."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), LONGEST_S))
    return True
