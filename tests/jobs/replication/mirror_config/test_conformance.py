"""What MirrorMaker 2 makes of mm2.properties, case by case."""

import pytest

from jobs.replication.mirror_config.catalogue import (
    COMMON_DEFAULTS,
    DEFAULTS,
    NEWER_DEFAULTS,
    TOP_DEFAULTS,
)
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.values import ConnectorClass, pair_name
from tests.jobs.replication.mirror_config.making import (
    CHECKPOINT,
    connector,
    connectors,
    flow_of,
    properties,
    read,
)
from tests.support import conformance_cases

FILE = "mirror_maker_properties"


@pytest.mark.parametrize("case", conformance_cases(FILE, "cluster_pairs"))
def test_pairs_that_something_runs_for(case):
    (deployment,) = read(properties(case["properties"])).deployments
    pairs = [pair_name(pair) for pair in deployment.pairs]
    assert len(pairs) == case["expected_count"]
    assert set(pairs) == set(case["expected_pairs"])


@pytest.mark.parametrize("case", conformance_cases(FILE, "effective_connector_config"))
def test_effective_values_and_where_they_come_from(case):
    flow = flow_of(case["properties"], case["flow"])
    config = flow.first(ConnectorClass(case["connector"])).config
    for key, expected in case["expected"].items():
        if expected is None:
            assert key not in config
        else:
            value = config[key]
            assert {"value": value.value, "provenance": value.provenance} == expected


@pytest.mark.parametrize("case", conformance_cases(FILE, "worker_config"))
def test_workers_get_names_of_their_source(case):
    worker = flow_of(case["properties"], case["flow"]).worker
    shown = {
        key: worker[key].value.rpartition("connect.converters.")[2] for key in case["expected"]
    }
    assert shown == case["expected"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "defaults"))
def test_defaults(case):
    tables = {
        "top": TOP_DEFAULTS,
        "common": COMMON_DEFAULTS,
        **{
            kind.value[len("Mirror") : -len("Connector")].lower(): DEFAULTS[kind]
            for kind in ConnectorClass
        },
    }
    for key, expected in (case["expected"] | case.get("in_3_9", {})).items():
        value = tables[case["connector"]][key]
        shown = value.rpartition(".")[2] if key.endswith((".class", ".reporters")) else value
        assert shown == expected


@pytest.mark.parametrize("case", conformance_cases(FILE, "defaults"))
def test_newer_defaults(case):
    for key in case.get("in_3_9", {}):
        assert NEWER_DEFAULTS[key] == case["expected"][key]


RULES = {
    "lint-docs-heartbeats-key": "misspelled-key",
    "lint-docs-enable-key": "misspelled-key",
    "lint-flow-producer": "producer-prefix",
    "lint-alias-prefix": "alias-prefix",
    "lint-same-bootstrap": "same-bootstrap",
    "lint-identity-both-ways": "identity-both-ways",
    "lint-regex-comma": "regex-comma",
    "lint-removed-4.0": "removed-key",
    "lint-rf-vs-brokers": "replication-factor",
    "lint-location-differs": "location-differs",
}


@pytest.mark.parametrize("case", conformance_cases(FILE, "lint"))
def test_lints(case):
    given = case.get("given", {})
    files = [properties(case["properties"])]
    if "checkpoint_connector_location" in given:
        place = given["checkpoint_connector_location"]
        other = connector(CHECKPOINT) | {"offset-syncs.topic.location": place}
        files.append(connectors(other))
    brokers = {"B": given["target_brokers"]} if "target_brokers" in given else {}
    found = [f for f in lint(read_config(files), Facts(brokers)) if f.code == RULES[case["id"]]]
    assert found
    assert all(finding.is_bad and finding.do for finding in found)


@pytest.mark.parametrize("case", conformance_cases(FILE, "lint"))
def test_every_removed_key_is_found_wherever_it_is(case):
    for key in case.get("keys", []):
        for prefix in ("", "A->B."):
            settings = {"clusters": "A, B", f"{prefix}{key}": "x"}
            found = [f.key for f in lint(read(properties(settings))) if f.code == "removed-key"]
            assert found == [f"{prefix}{key}"]
