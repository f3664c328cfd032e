"""Real clusters for the live tests: started once per run, only when a test asks, in a temporary folder.

They end with the last live test of a worker: what only computes has the machine for itself then.
"""

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.secrets import SecretRef
from jobs.lab.cluster import Cluster
from jobs.lab.errors import FetchFailed, JavaMissing
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan, standard_plans
from jobs.lab.ports import find_base_port
from jobs.lab.security import USERS
from tests.live.evidence import report_with_evidence
from tests.live.shared_labs import SHARED

FOLDER = Path(__file__).parent
# Records of tests are of any age: nothing is deleted for it, and the default itself stays what it is.
NO_RETENTION = {
    "log.retention.check.interval.ms": "86400000",
    "log.initial.task.delay.ms": "86400000",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder: each needs a real cluster or what one would start."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker("live")


@pytest.hookimpl(trylast=True)  # after fixtures that still need the clusters
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End shared clusters when none of their tests follows: ten idle brokers take a third of a core."""
    for folder, end in tuple(SHARED):
        if nextitem is None or not nextitem.path.is_relative_to(folder):
            SHARED.remove((folder, end))
            end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed test what its clusters, consoles and runs wrote meanwhile."""
    return report_with_evidence(item, call, (yield))


@pytest.fixture(scope="session")
def kafka() -> KafkaJvm:
    """Kafka itself; without a JDK, or without a network before it was ever fetched, tests fail."""
    try:
        return kafka_jvm()
    except (JavaMissing, FetchFailed) as error:
        pytest.fail(f"There is no real Kafka on this machine: {error}", pytrace=False)


@pytest.fixture(scope="session")
def lab(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Cluster `east` with three nodes and `west` with one, which keep records of any age."""
    plans = [
        replace(plan, overrides=NO_RETENTION)
        for plan in standard_plans(find_base_port(standard_plans))
    ]
    started = Lab(tmp_path_factory.mktemp("lab"), plans, jvm=kafka)
    SHARED.append((FOLDER, started.kill))
    started.start()
    yield started
    started.kill()  # nobody reads its data any more, and an orderly stop takes 5 s


@pytest.fixture(scope="session")
def east(lab: Lab) -> Cluster:
    return lab.cluster("east")


@pytest.fixture(scope="session")
def west(lab: Lab) -> Cluster:
    return lab.cluster("west")


@pytest.fixture
def small_lab(kafka: KafkaJvm, tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Make small labs that a test may break: `small_lab("one", nodes=1)`; stopped afterwards."""
    made: list[Lab] = []

    def make(
        alias: str = "small", *, nodes: int = 1, start: bool = True, **settings: object
    ) -> Lab:
        def plans(base_port: int) -> list[ClusterPlan]:
            return [ClusterPlan(alias, nodes, base_port, **settings)]  # type: ignore[arg-type]

        one = Lab(tmp_path / alias, plans(find_base_port(plans)), jvm=kafka)
        made.append(one)
        if start:
            one.start()
        return one

    yield make
    for one in made:
        one.kill()


class SecureCluster:
    """One node with every kind of listener, and the connections that fit them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.ca = (cluster.folder / "certificates" / "ca.pem").read_text(encoding="utf-8")

    def connection(
        self,
        protocol: str,
        mechanism: str | None = None,
        *,
        user: str = "admin",
        password: str = "CROSSLOG_SECRET_LAB_ADMIN",
    ) -> Connection:
        """Return a connection to the listener of a security protocol; `password` names a variable."""
        uses_sasl = protocol.startswith("SASL")
        return Connection(
            alias=self.cluster.plan.alias,
            bootstrap_servers=self.cluster.plan.bootstrap_servers(protocol),
            security_protocol=SecurityProtocol(protocol),
            sasl_mechanism=SaslMechanism(mechanism) if mechanism else None,
            sasl_username=user if uses_sasl else "",
            sasl_password=SecretRef("env", password) if uses_sasl else None,
            ssl_ca=SecretRef("env", "CROSSLOG_SECRET_LAB_CA") if protocol.endswith("SSL") else None,
        )


@pytest.fixture(scope="session")
def secure(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    """A node with SASL_PLAINTEXT (PLAIN, SCRAM), SSL and SASL_SSL listeners.

    Secrets stand in CROSSLOG_SECRET_LAB_ADMIN, _LIMITED, _WRONG and _CA; user `limited` has no ACL.
    """

    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("secure", 1, base_port, is_secure=True)]

    root = tmp_path_factory.mktemp("secure-lab")
    started = Lab(root, plans(find_base_port(plans)), jvm=kafka)
    SHARED.append((FOLDER, started.kill))
    started.start()
    cluster = SecureCluster(started.cluster("secure"))
    secrets = {f"CROSSLOG_SECRET_LAB_{user.upper()}": text for user, text in USERS.items()}
    secrets |= {"CROSSLOG_SECRET_LAB_WRONG": "wrong", "CROSSLOG_SECRET_LAB_CA": cluster.ca}
    os.environ.update(secrets)
    yield cluster
    for name in secrets:
        os.environ.pop(name, None)
    started.kill()
