"""Whether names have an address on this machine, within a time: a name that takes longer is not known."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable

MOST_NAMES = 100
_NO_SUCH_NAME = {socket.EAI_NONAME, socket.EAI_NODATA}


def resolved(
    names: Iterable[str], budget_s: float, ask: Callable[[str], object] | None = None
) -> dict[str, bool]:
    """Return which names have an address; those are left out that are not answered in time.

    All are asked at once, of many the first ones; `ask` raises socket.gaierror for a name without an address.
    """
    found: dict[str, bool] = {}
    threads = [
        threading.Thread(target=_resolve, args=(name, ask or _ask, found), daemon=True)
        for name in sorted(set(names))[:MOST_NAMES]
    ]
    for one in threads:
        one.start()
    deadline = time.monotonic() + budget_s
    for one in threads:
        one.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def _resolve(name: str, ask: Callable[[str], object], found: dict[str, bool]) -> None:
    try:
        ask(name)
    except UnicodeError:
        found[name] = False
    except socket.gaierror as problem:
        # Where no server of names answers, nothing is known of the name.
        if problem.errno in _NO_SUCH_NAME:
            found[name] = False
    except OSError:
        return
    else:
        found[name] = True


def _ask(name: str) -> object:
    return socket.getaddrinfo(name, None)
