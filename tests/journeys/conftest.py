"""One lab, one console, one mail server and one Spark engine for all journeys: started once, ended once."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan, standard_plans
from jobs.lab.ports import find_base_port
from jobs.lab.security import USERS
from tests.browser.conftest import browser, context, page  # noqa: F401  fixtures
from tests.console.delivery.mail_server import start_mail_server
from tests.journeys.world import World
from tests.live.conftest import NO_RETENTION, kafka  # noqa: F401  a fixture
from tests.live.evidence import report_with_evidence
from tests.running_console import DATABASE, RunningConsole, free_port

# Journeys kill brokers: the controller fences them after 6 s, not after 9.
SESSIONS = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}


def plans(base_port: int) -> list[ClusterPlan]:
    """Both clusters of the standard lab, with listeners for TLS and SASL beside the plain ones."""
    return [
        replace(plan, is_secure=True, overrides=NO_RETENTION | SESSIONS)
        for plan in standard_plans(base_port)
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed journey what its clusters, the console and runs wrote meanwhile."""
    return report_with_evidence(item, call, (yield))


@pytest.fixture(scope="session")
def started(
    kafka: KafkaJvm,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
    put_database: Callable[[Path], None],
) -> Iterator[World]:
    """Everything that journeys share; the lab and the console start beside each other."""
    home = tmp_path_factory.mktemp("console")
    put_database(home / DATABASE)
    lab = Lab(tmp_path_factory.mktemp("lab"), plans(find_base_port(plans)), jvm=kafka)
    mailbox, mail_server = start_mail_server()
    settings = {
        "STREAMS_INTERVAL_S": "5",
        "MAIL_HOST": "127.0.0.1",
        "MAIL_PORT": str(mail_server.port),
        "MAIL_TLS": "none",
        "MAIL_FROM": "crosslog@example.org",
        # Receivers of webhooks on this machine; they may hang.
        "OUTBOUND_SCHEMES": "http",
        "OUTBOUND_HOSTS": "127.0.0.1",
        "OUTBOUND_NETWORKS": "127.0.0.0/8",
        "OUTBOUND_TIMEOUT_S": "2",
        **{f"CROSSLOG_SECRET_LAB_{user.upper()}": text for user, text in USERS.items()},
    }
    console = RunningConsole(home, free_port(), settings=settings)
    try:
        lab.start()
        console.log_in()
        yield World(lab, console, mailbox)
    finally:
        console.end()
        lab.kill()
        mail_server.stop(no_assert=True)


@pytest.fixture
def world(started: World) -> Iterator[World]:
    """The shared clusters and console, both clusters registered; what a journey killed is started again."""
    started.register()
    yield started
    started.start_all()
