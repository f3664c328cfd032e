"""Work that blocks, beside an event loop that must be able to end without it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

_Result = TypeVar("_Result")


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns; raises what it raises.

    When the caller is cancelled the work goes on alone: a pool of threads would be waited for at the end.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def tell(finish: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if done.done() else finish())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  raised again by the caller
            tell(partial(done.set_exception, error))
        else:
            tell(partial(done.set_result, result))

    threading.Thread(target=run, name="batch-path-question", daemon=True).start()
    return await done
