"""One console for the live tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import browser, context, page  # noqa: F401  fixtures
from tests.live.shared_labs import SHARED
from tests.running_console import DATABASE, RunningConsole, free_port


@pytest.fixture(scope="session")
def started(
    tmp_path_factory: pytest.TempPathFactory, put_database: Callable[[Path], None]
) -> Iterator[RunningConsole]:
    home = tmp_path_factory.mktemp("console")
    put_database(home / DATABASE)
    console = RunningConsole(home, free_port())
    SHARED.append((Path(__file__).parent, console.end))
    console.log_in()
    yield console
    console.end()


@pytest.fixture(scope="module")
def running(started: RunningConsole) -> Iterator[RunningConsole]:
    """One console for all files, without flows and clusters for each: it takes half a minute to start."""
    yield started
    started.empty()


@pytest.fixture(scope="module")
def registered(running: RunningConsole, east, west) -> RunningConsole:
    """The console with both lab clusters registered."""
    for cluster in (east, west):
        connection = cluster.connection
        values = {
            "alias": connection.alias,
            "bootstrap_servers": connection.bootstrap_servers,
        }
        running.visitor.post("api/v1/clusters/", values)
    return running
