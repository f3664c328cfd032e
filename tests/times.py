"""Where the time of a run goes: seconds of each family of tests, of the clock and of processors.

A family is a folder below `tests/`, to its second level. Wall seconds are those of the workers together; the
processors' are those of a worker and of all that it started and that lives, or was waited for. A run of two
workers on two cores can use twice its own seconds of both.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

# The file to which a run writes the seconds of each test, as one JSON object per line.
TO_FILE = "CROSSLOG_TEST_TIMES"
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_STARTS_PROCESSES = (
    "tests/journeys/",
    "tests/live/",
    "tests/browser/",
    "tests/console/frame/",
    "tests/test_postgresql.py",
)


def family_of(nodeid: str) -> str:
    """Return the folder of a test below `tests/`, to its second level; `tests` for what lies there itself."""
    folders = nodeid.partition("::")[0].split("/")[1:-1]
    return "/".join(folders[:2]) or "tests"


class Seconds:
    """What a family took."""

    def __init__(self) -> None:
        self.tests = set[str]()
        self.wall = 0.0
        self.cpu = 0.0


class Times:
    """Adds up what the tests say, and prints it at the end; lives where results come together."""

    def __init__(self) -> None:
        self._families = defaultdict[str, Seconds](Seconds)
        self._began = time.monotonic()
        path = os.environ.get(TO_FILE)
        self._file = Path(path) if path else None
        if self._file is not None:
            self._file.write_text("", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take one phase of one test: set-up, call, or teardown."""
        family = self._families[family_of(report.nodeid)]
        family.tests.add(report.nodeid)
        family.wall += report.duration
        told = dict(report.user_properties)
        cpu = float(told.get(f"cpu-{report.when}", 0.0))  # type: ignore[arg-type]
        family.cpu += cpu
        if self._file is not None:
            row = {"test": report.nodeid, "when": report.when, "outcome": report.outcome}
            row |= {"wall": round(report.duration, 3), "cpu": round(cpu, 2)}
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print one line per family, the longest first."""
        rows = sorted(self._families.items(), key=lambda item: -item[1].wall)
        if len(rows) < 2:
            return
        terminalreporter.section("seconds of families of tests: wall, processors")
        for name, family in rows:
            terminalreporter.write_line(
                f"{family.wall:8.0f} {family.cpu:8.0f}  {name}, {len(family.tests):,} tests"
            )
        wall, cpu = (sum(getattr(one, what) for _, one in rows) for what in ("wall", "cpu"))
        terminalreporter.write_line(
            f"{wall:8.0f} {cpu:8.0f}  all, in {time.monotonic() - self._began:,.0f} s"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Add up where results come together: not in a worker."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the processors' time of a set-up."""
    return (yield from _measured(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the processors' time of a test itself."""
    return (yield from _measured(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the processors' time of a teardown."""
    return (yield from _measured(item, "teardown"))


def _measured(item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
    clock = _of_all if item.nodeid.startswith(_STARTS_PROCESSES) else _of_this
    before = clock()
    try:
        return (yield)
    finally:
        item.user_properties.append((f"cpu-{phase}", max(0.0, clock() - before)))


def _of_this() -> float:
    """Return the seconds of this process and of what it waited for."""
    told = os.times()
    return told.user + told.system + told.children_user + told.children_system


def _of_all() -> float:
    """Return the seconds of this process, of all below it, and of what those waited for (Linux)."""
    parents, seconds = dict[int, int](), dict[int, float]()
    for pid, parent, ticks in _processes():
        parents[pid], seconds[pid] = parent, ticks * _TICK_S
    mine = os.getpid()

    def is_below(pid: int) -> bool:
        while pid and pid != mine:
            pid = parents.get(pid, 0)
        return pid == mine

    return sum(spent for pid, spent in seconds.items() if is_below(pid))


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield pid, parent's pid, and ticks of every process."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (
                (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            )
        except OSError:  # ended meanwhile
            continue
        words = fields.split()
        yield int(entry.name), int(words[1]), sum(map(int, words[11:15]))
