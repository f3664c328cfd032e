"""Programs that follow many things at once: a thread for each, as the database says which there are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from django.db import DatabaseError, InterfaceError, close_old_connections

from console.frame.processes import liveness
from jobs.cluster.errors import ClusterFault

logger = logging.getLogger(__name__)

_Key = TypeVar("_Key", bound=Hashable)
_Wanted = TypeVar("_Wanted")
# How often it is looked what is wanted, and how long what broke rests.
LOOK_S, REST_S = 5.0, 5.0
# A cluster may be another one by then, such as one that migrated from ZooKeeper.
FINAL_REST_S = 600.0
STOP_WITHIN_S = 10.0


def start_thread(run: Callable[[], None], name: str) -> threading.Thread:
    """Run something in a thread that does not keep the process from ending."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


@dataclass(frozen=True, slots=True)
class ThreadDependencies:
    """How threads are started and timed, and how a thread leaves the database; tests give their own."""

    clock: Callable[[], float] = time.monotonic
    start: Callable[[Callable[[], None], str], threading.Thread] = start_thread
    renew: Callable[[], None] = close_old_connections


THREADS = ThreadDependencies()


@dataclass(slots=True, eq=False)
class _Kept(Generic[_Wanted]):
    """A thread: its purpose, its stop event, and when it ended."""

    name: str
    wanted: _Wanted
    stop: threading.Event
    thread: threading.Thread | None = None
    ended_at: float | None = None

    @property
    def is_alive(self) -> bool:
        return self.thread is not None and self.thread.is_alive()


@dataclass(eq=False)
class SupervisedThreads(Generic[_Key, _Wanted]):
    """A thread for everything that is wanted, begun again when it broke or is wanted differently.

    `find` returns what is wanted by its key; equal things are followed in the same way. `go` works on one of
    them until its event is set; what it raises is logged, and it is restarted after a pause.
    """

    label: str
    find: Callable[[], Mapping[_Key, _Wanted]]
    go: Callable[[_Wanted, threading.Event], None]
    dependencies: ThreadDependencies = THREADS
    look_s: float = LOOK_S
    _kept: dict[_Key, _Kept[_Wanted]] = field(default_factory=dict, init=False)

    def run(self, stop: threading.Event) -> None:
        """Follow changes of what is wanted until `stop` is set, also while the database is unreachable."""
        while not stop.is_set():
            try:
                self.dependencies.renew()
                self.look()
            except (DatabaseError, InterfaceError) as error:
                logger.warning(
                    "%s: the database is unreachable, running threads continue: %s",
                    self.label,
                    error,
                )
            liveness.sign()
            stop.wait(self.look_s)
        self.end()

    def look(self) -> None:
        """Make the threads agree with what is wanted; raises what `find` raises."""
        wanted = self.find()
        for key, one in list(self._kept.items()):
            if key not in wanted or one.wanted != wanted[key]:
                one.stop.set()
            if not one.is_alive and (one.stop.is_set() or self._has_rested(one)):
                del self._kept[key]
        for key in [key for key in wanted if key not in self._kept]:
            one = _Kept(f"{self.label} {key}", wanted[key], threading.Event())
            self._kept[key] = one
            one.thread = self.dependencies.start(partial(self._run, one), one.name)

    def end(self) -> bool:
        """Stop all threads and wait for them; return whether all have ended."""
        for one in self._kept.values():
            one.stop.set()
        for one in self._kept.values():
            if one.thread is not None:
                one.thread.join(STOP_WITHIN_S)
        return not any(one.is_alive for one in self._kept.values())

    def _has_rested(self, one: _Kept[_Wanted]) -> bool:
        return one.ended_at is not None and self.dependencies.clock() - one.ended_at >= REST_S

    def _run(self, one: _Kept[_Wanted]) -> None:
        try:
            self.go(one.wanted, one.stop)
        except Exception:  # a thread ends here and must say so
            logger.exception("%s broke", one.name)
        finally:
            self.dependencies.renew()
            one.ended_at = self.dependencies.clock()


def rest_after(error: Exception, stop: threading.Event) -> None:
    """Rest long after a fault that only other settings end; with these, everything begins at once."""
    if isinstance(error, ClusterFault) and error.is_final:
        stop.wait(FINAL_REST_S)
