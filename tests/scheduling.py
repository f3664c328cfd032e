"""Which worker runs which test of `pytest -n 4`, and which tests have the processors first.

All journeys are one unit, because they share a lab and a console: the first worker runs them one by one.
Other tests with clusters, a console or a browser go file by file in one order: by folders, so that the lab
of a folder starts once. The first worker takes them from the beginning, the others from the end; the last one
takes everything that only computes before it helps. Tests without clusters are niced: those that wait for a
cluster have the processors first. Where one waits another one computes: four workers keep two cores busy.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# In the order of their turn.
WITH_CLUSTERS = (
    "journeys",
    "live/availability",
    "live/quorum",
    "live/versions",
    "live/batches",
    "live/mirror_maker",
    "live/demo",
    "live/lab",
    "live/cluster",
    "live/replication",
    "live/cluster_protocol",
    "live",
    "live/console",
    "live/spark",
    "live/streams",
    "test_postgresql.py",
    "console/frame/test_up.py",
    "browser",
)


# Journeys share a lab: they are one unit.
TOGETHER = "tests/journeys/"
# All tests with one version of Kafka are one unit, too: its cluster starts once.
VERSIONS = "tests/live/versions/"
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.]*")
NICE = 10


@functools.cache
def turn_of(nodeid: str) -> int | None:
    """Return the turn of a test with clusters or a browser; None for one that only computes."""
    path = nodeid.removeprefix("tests/").partition("::")[0]
    found = [
        (len(start), turn)
        for turn, start in enumerate(WITH_CLUSTERS)
        if path == start or path.startswith(start + "/")
    ]
    return max(found)[1] if found else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what has clusters first, in its order; the sort leaves everything else as it is."""
    last = len(WITH_CLUSTERS)
    turns = [turn_of(item.nodeid) for item in items]
    keyed = zip((last if turn is None else turn for turn in turns), range(len(items)), strict=True)
    items[:] = [items[at] for _, at in sorted(keyed)]


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later search for garbage: it is a gigabyte, and stays."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Tell pytest-xdist which tests stay together, and who takes them."""
    from xdist.scheduler import LoadScopeScheduling

    class ByTurns(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(VERSIONS) and (version := _VERSION.search(nodeid)):
                return f"{VERSIONS}{version[0]}"
            return TOGETHER if nodeid.startswith(TOGETHER) else nodeid.partition("::")[0]

        def _assign_work_unit(self, node: Any) -> None:
            with_clusters = [scope for scope in self.workqueue if turn_of(scope) is not None]
            others = [scope for scope in self.workqueue if turn_of(scope) is None]
            number = int(node.gateway.id.removeprefix("gw"))
            if number == 0:
                scope = (with_clusters + others)[0]
            elif number == len(self.nodes) - 1:
                scope = (others + with_clusters[::-1])[0]
            else:
                scope = (with_clusters[::-1] + others)[0]
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return ByTurns(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the processors first to the tests that wait for a cluster."""
    if hasattr(item.config, "workerinput"):
        has_cluster = item.nodeid.startswith((TOGETHER, "tests/live/"))
        _be_nice(0 if has_cluster else NICE)


def _be_nice(value: int) -> None:
    """Set how nice this process is: on Linux every thread has a value of its own."""
    if os.getpriority(os.PRIO_PROCESS, 0) == value:
        return
    for thread in [int(one.name) for one in Path("/proc/self/task").glob("*")] or [0]:
        # Only root may go back; without that right a worker stays niced for good, which is slower but right.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, thread, value)
