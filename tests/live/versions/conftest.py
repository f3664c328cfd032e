"""One node of each version after the other, beside one of 4.3.1; what passed can be written as a table.

`--record-versions FILE` writes a JSON row per test that carries `@pytest.mark.capability("...")`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.live.conftest import NO_RETENTION
from tests.live.shared_labs import SHARED
from tests.live.versions.versions import VERSIONS, KafkaVersion

FOLDER = Path(__file__).parent
NEWEST = "newest"
QUICK = NO_RETENTION | {"log.cleaner.backoff.ms": "100"}
_PROPERTY = "capability row"
_ROWS = pytest.StashKey[list[dict[str, str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-versions", metavar="FILE", help="write what each version can, as JSON"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test that shows a capability of a version what its row says."""
    for item in items:
        mark = item.get_closest_marker("capability")
        version = getattr(item, "callspec", None) and item.callspec.params.get("cluster")
        if mark and isinstance(version, KafkaVersion):
            role = mark.kwargs.get("role", "cluster")
            row = {"capability": mark.args[0], "version": version.kafka, "mode": version.mode}
            item.user_properties.append((_PROPERTY, row | {"note": version.note, "role": role}))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []
    if config.getoption("record_versions", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(config), "record-versions")


class _Recorder:
    def __init__(self, config: pytest.Config) -> None:
        self._file = Path(config.getoption("record_versions"))
        self._rows: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome: what fails before or after its call fails."""
        row = dict(report.user_properties).get(_PROPERTY)
        if isinstance(row, dict) and (report.when == "call" or report.outcome != "passed"):
            outcome = {"outcome": report.outcome, "test": report.nodeid}
            if self._rows.get(report.nodeid, {}).get("outcome") != "failed":
                self._rows[report.nodeid] = row | outcome

    def pytest_sessionfinish(self) -> None:
        rows = sorted(self._rows.values(), key=lambda row: (row["capability"], row["test"]))
        lines = ",\n".join(json.dumps(row) for row in rows)
        self._file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def started(alias: str, folder: Path, **settings: object) -> Lab:
    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan(alias, 1, base_port, racks=("dc-a",), **settings)]  # type: ignore[arg-type]

    lab = Lab(folder, plans(find_base_port(plans)))
    SHARED.append((FOLDER, lab.kill))
    lab.start()
    return lab


@pytest.fixture(scope="session")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node of Kafka 4.3.1, the other end of every flow."""
    lab = started(NEWEST, tmp_path_factory.mktemp(NEWEST), overrides=QUICK)
    yield lab.cluster(NEWEST)
    lab.kill()


@pytest.fixture(scope="session")
def start_version(tmp_path_factory: pytest.TempPathFactory) -> Callable[[KafkaVersion], Lab]:
    def start(version: KafkaVersion) -> Lab:
        return started(
            "old",
            tmp_path_factory.mktemp(str(version)),
            overrides=QUICK | dict(version.overrides),
            kafka=version.kafka,
            zookeeper=version.has_zookeeper,
            is_secure=True,
        )

    return start


@pytest.fixture(scope="session", params=VERSIONS, ids=str)
def cluster(
    request: pytest.FixtureRequest, start_version: Callable[[KafkaVersion], Lab]
) -> Iterator[Cluster]:
    """One node of a version, with an authorizer; pytest runs all tests of a version before the next."""
    lab = start_version(request.param)
    yield lab.cluster("old")
    lab.kill()


@pytest.fixture
def version(request: pytest.FixtureRequest, cluster: Cluster) -> KafkaVersion:
    """The version of `cluster`."""
    return request.node.callspec.params["cluster"]
