"""A client that a generator makes from the schema does the main job, without a line of its own."""

import importlib
import subprocess
import sys
import uuid
from base64 import b64encode
from pathlib import Path
from types import ModuleType

import pytest

from jobs.lab.traffic.fill import Filling, fill
from tests.waiting import PATIENCE, eventually

RECORDS = 500
COPIES_WITHIN_S = 120


class Generated:
    """The generated package, and a signed-in client of it."""

    def __init__(self, package: str, url: str, password: str) -> None:
        self.package = package
        basic = b64encode(f"admin:{password}".encode()).decode()
        # Five seconds, its default, are short on a busy machine.
        self.client = self.module("client").Client(
            base_url=url, headers={"Authorization": f"Basic {basic}"}, timeout=30 * PATIENCE
        )
        self.models = self.module("models")

    def module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.package}.{name}")

    def ask(self, tag: str, operation: str, *path, **parameters):
        """Return the typed answer of an operation; anything but a 2xx fails with what it says."""
        call = self.module(f"api.{tag}.{operation}").sync_detailed
        answer = call(*path, client=self.client, **parameters)
        assert answer.status_code < 300, (answer.status_code, answer.content)
        return answer.parsed


@pytest.fixture(scope="module")
def generated(running, tmp_path_factory) -> Generated:
    folder = tmp_path_factory.mktemp("generated")
    schema, config = folder / "openapi.json", folder / "config.yaml"
    schema.write_text(running.visitor.page("api/v1/schema/?format=json"), "utf-8")
    config.write_text("post_hooks: []\n", "utf-8")
    told = subprocess.run(
        [
            *(Path(sys.executable).with_name("openapi-python-client"), "generate"),
            *("--meta", "none"),
            *("--fail-on-warning", "--path", schema, "--config", config),
            *("--output-path", folder / "crosslog_client"),
        ],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    sys.path.insert(0, str(folder))
    yield Generated("crosslog_client", running.url.rstrip("/"), running.password)
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def flow(generated, east, west):
    """A started flow of one topic between two clusters, all made by the client."""
    topic = f"generated-{uuid.uuid4().hex[:8]}"
    fill(east.connection, topic, Filling(RECORDS, partitions=2, seed=0))
    for cluster in (east, west):
        connection = cluster.connection
        body = generated.models.NewCluster(
            alias=connection.alias, bootstrap_servers=connection.bootstrap_servers
        )
        assert generated.ask("clusters", "clusters_create", body=body).alias == connection.alias
    body = generated.models.NewFlow(name=topic, source="east", target="west", topics=[topic])
    made = generated.ask("flows", "flows_create", body=body)
    assert made.topics == [topic]
    generated.ask("flows", "flows_start_create", made.id)
    yield made
    generated.ask("flows", "flows_stop_create", made.id)


def test_a_started_flow_is_seen_copying_until_its_lag_is_zero(generated, flow):
    def shown():
        return generated.ask("flows", "flows_retrieve", flow.id)

    eventually(
        lambda: shown().status.state.value == "running" and shown().lag == 0, COPIES_WITHIN_S
    )
    partitions = generated.ask("flows", "flows_partitions_list", flow.id).results
    assert sum(partition.position for partition in partitions) >= RECORDS
    assert [partition.lag for partition in partitions] == [0, 0]


def test_the_last_page_of_a_list_has_no_next(generated, flow):
    page = generated.ask("flows", "flows_list")
    assert (page.next_, page.previous) == (None, None)
    assert flow.id in [one.id for one in page.results]


@pytest.mark.parametrize(
    ("tag", "operation"),
    [
        ("observers", "observers_list"),
        ("placements", "placements_topics_retrieve"),
        ("what_if", "what_if_matrix_retrieve"),
    ],
    ids=["observers", "topics of placements", "matrix"],
)
def test_the_defaults_of_the_schema_are_accepted(generated, flow, tag, operation):
    generated.ask(tag, operation, cluster="east")
