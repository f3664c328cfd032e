"""Compiled loops, made once for all tests and for all that they start, where `make` has not made them.

Each process would make what it needs first for itself: the compiled replay takes a quarter of a minute of a
processor. Where several workers begin, a process beside them makes it before they get there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.files import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))

_making = pytest.StashKey[subprocess.Popen[bytes]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin beside the workers, where there are some."""
    config = session.config
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        config.stash[_making] = subprocess.Popen(
            [sys.executable, "-m", "jobs.quorum.replay.ahead"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave no process behind."""
    making = session.config.stash.get(_making, None)
    if making is not None:
        making.kill()
        making.wait()
