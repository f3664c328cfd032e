"""Fixtures of all tests: three people, and clients that are signed in as them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

pytest_plugins = ("tests.times",)

# How long an example takes says more about the machine than about the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# Tests that share clusters or a browser stay together. The first worker runs these families in this order,
# those first for which a second matters; the others run everything else, niced, file by file, and then help
# with the families from the end. So what waits with a clock in its hand has only what is niced beside it.
FAMILIES = (
    ("live/availability", "clusters of sites"),
    ("live/quorum", "clusters whose quorum changes"),
    ("live/cluster", "clusters that are asked"),
    ("live/batches", "clusters of the batch path"),
    ("live/console", "clusters of consoles"),
    ("live/test_demo.py", "clusters of consoles"),
    ("live", "clusters of all others"),
    ("live/spark", "clusters of Spark"),
    ("browser", "browsers"),
    ("console/frame/test_up.py", "browsers"),
)
RANKS = {family: rank for rank, family in enumerate(dict.fromkeys(name for _, name in FAMILIES))}


def _family_of(nodeid: str) -> str | None:
    path = nodeid.removeprefix("tests/")
    found = [(len(start), name) for start, name in FAMILIES if path.startswith(start)]
    return max(found)[1] if found else None


class _Families(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return _family_of(nodeid) or nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        families = [scope for scope in self.workqueue if scope in RANKS]
        others = [scope for scope in self.workqueue if scope not in RANKS]
        is_first = node.gateway.id == "gw0"
        scope = (families + others)[0] if is_first else (others + families[::-1])[0]
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put families first, in their order; the sort leaves everything else as it is."""
    items.sort(key=lambda item: RANKS.get(_family_of(item.nodeid) or "", len(RANKS)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Tell pytest-xdist which tests stay together."""
    config.option.loadscopereorder = False
    return _Families(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let tests that only compute wait for those that wait for a cluster with a clock in their hand."""
    if hasattr(item.config, "workerinput"):
        _be_nice(10 if _family_of(item.nodeid) is None else 0)


def _be_nice(value: int) -> None:
    """Set how nice this process is: on Linux every thread has a value of its own."""
    if os.getpriority(os.PRIO_PROCESS, 0) == value:
        return
    for thread in [int(one.name) for one in Path("/proc/self/task").glob("*")] or [0]:
        # Only root may go back; without that right a worker stays niced for good, which is slower but right.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, thread, value)


@pytest.fixture
def admin(db):
    return _person("ada", "admin")


@pytest.fixture
def operator(db):
    return _person("otto", "operator")


@pytest.fixture
def viewer(db):
    return _person("vera", "viewer")


@pytest.fixture
def sign_in(client):
    """Sign a person in and return the client; without a person the client stays anonymous."""

    def sign_in(person=None):
        if person is not None:
            client.force_login(person)
        return client

    return sign_in


def _person(name, role):
    from console.accounts.models import User

    return User.objects.create_user(name, password="a password of " + name, role=role)
