"""Programs that follow many things at once: a thread for each, as the database says which there are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from django.db import DatabaseError, InterfaceError, close_old_connections

from console.frame.processes import liveness
from jobs.cluster.errors import ClusterFault

logger = logging.getLogger(__name__)

_Wanted = TypeVar("_Wanted")
# How often it is looked what is wanted, and how long what broke rests.
LOOK_S, REST_S = 5.0, 5.0
# A cluster may be another one by then, such as one that migrated from ZooKeeper.
FINAL_REST_S = 600.0
STOP_WITHIN_S = 10.0


class Thread(Protocol):
    """Something that runs beside us; a fake of it runs at once in tests."""

    def is_alive(self) -> bool: ...

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        ...


def start_thread(run: Callable[[], None], name: str) -> Thread:
    """Run something beside us."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


@dataclass(frozen=True, slots=True)
class ThreadDependencies:
    """How threads are started and timed, and how a thread leaves the database; tests give their own."""

    clock: Callable[[], float] = time.monotonic
    start: Callable[[Callable[[], None], str], Thread] = start_thread
    renew: Callable[[], None] = close_old_connections


@dataclass(slots=True, eq=False)
class _Kept(Generic[_Wanted]):
    """A thread: its purpose, its stop event, and when it ended."""

    name: str
    wanted: _Wanted
    stop: threading.Event
    thread: Thread | None = None
    ended_at: float | None = None

    @property
    def is_alive(self) -> bool:
        return self.thread is not None and self.thread.is_alive()


class SupervisedThreads(Generic[_Wanted]):
    """A thread for everything that is wanted, begun again when it broke or is wanted differently.

    `find` returns what is wanted by its key; equal things are followed in the same way. `go` works on one of
    them until its event is set; what it raises is logged, and it is restarted after a pause.
    """

    def __init__(
        self,
        label: str,
        find: Callable[[], Mapping[int, _Wanted]],
        go: Callable[[_Wanted, threading.Event], None],
        dependencies: ThreadDependencies,
    ) -> None:
        self._label = label
        self._find = find
        self._go = go
        self._ways = dependencies
        self._kept: dict[int, _Kept[_Wanted]] = {}

    def run(self, stop: threading.Event) -> None:
        """Follow changes of what is wanted until `stop` is set, also while the database is unreachable."""
        while not stop.is_set():
            try:
                self._ways.renew()
                self.look()
            except (DatabaseError, InterfaceError) as error:
                logger.warning(
                    "%s: the database is unreachable, running threads continue: %s",
                    self._label,
                    error,
                )
            liveness.sign()
            stop.wait(LOOK_S)
        self.end()

    def look(self) -> None:
        """Make the threads agree with what is wanted; raises what `find` raises."""
        wanted = self._find()
        for key, one in list(self._kept.items()):
            if key not in wanted or one.wanted != wanted[key]:
                one.stop.set()
            if not one.is_alive and (one.stop.is_set() or self._has_rested(one)):
                del self._kept[key]
        for key in wanted.keys() - self._kept.keys():
            one = _Kept(f"{self._label} {key}", wanted[key], threading.Event())
            self._kept[key] = one
            one.thread = self._ways.start(partial(self._run, one), one.name)

    def end(self) -> None:
        """Tell all threads to end, and wait for them."""
        for one in self._kept.values():
            one.stop.set()
        for one in self._kept.values():
            if one.thread is not None:
                one.thread.join(STOP_WITHIN_S)

    def _has_rested(self, one: _Kept[_Wanted]) -> bool:
        return one.ended_at is not None and self._ways.clock() - one.ended_at >= REST_S

    def _run(self, one: _Kept[_Wanted]) -> None:
        try:
            self._go(one.wanted, one.stop)
        except Exception:  # a thread ends here and must say so
            logger.exception("%s broke", one.name)
        finally:
            self._ways.renew()
            one.ended_at = self._ways.clock()


def rest_after(error: Exception, stop: threading.Event) -> None:
    """Rest long after a fault that only other settings end; with these, everything begins at once."""
    if isinstance(error, ClusterFault) and error.is_final:
        stop.wait(FINAL_REST_S)
