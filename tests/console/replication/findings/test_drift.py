"""Drift as findings: when both sides are compared, what differs, and loops."""

import pytest

from console.findings.models import Finding
from console.replication.findings.collect import DRIFT_EVERY
from jobs.replication.findings.connect_topics import Configs
from jobs.replication.findings.reading import WireAnswers
from jobs.replication.topics.drift import ConfigDrift, TopicDrift
from tests.console.making import (
    NOW,
    make_cluster,
    make_flow,
)
from tests.console.replication.finding import clusters_that_answer
from tests.console.replication.finding_looks import MINUTE, codes, look, report, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    return make_flow(
        copied_by="mirror_maker", offset_syncs="source", groups=[".*"], measured_at=NOW
    )


@pytest.fixture
def asked():
    """What was asked of the clusters, in order."""
    return []


def test_drift_is_compared_every_ten_minutes_and_ends_with_the_next_comparison(flow, asked):
    drifted = report(TopicDrift("orders", "east.orders", 6, 6, 3, 1))
    look(flow, clusters_that_answer(drift=drifted, asked=asked))
    assert codes(flow) == ["replication_factor_differs"]
    kafka = clusters_that_answer(drift=report(), asked=asked)
    for minute in range(1, 10):
        look(flow, kafka, minute)
    assert (asked.count(("drift",)), codes(flow)) == (1, ["replication_factor_differs"])
    look(flow, kafka, int(DRIFT_EVERY / MINUTE))
    assert (asked.count(("drift",)), codes(flow)) == (2, [])


def test_a_topic_that_is_only_just_being_made_is_not_missing(flow, asked):
    missing = TopicDrift("orders", "east.orders", 6, 0, 3, 0, problem="UNKNOWN_TOPIC_OR_PART")
    look(flow, clusters_that_answer(drift=report(missing), asked=asked))
    look(flow, clusters_that_answer(drift=report(), asked=asked), 1)
    assert (asked.count(("drift",)), codes(flow)) == (2, [])


def test_a_missing_topic_is_looked_at_again_with_every_look(flow, asked):
    missing = TopicDrift("orders", "east.orders", 6, 0, 3, 0, problem="UNKNOWN_TOPIC_OR_PART")
    kafka = clusters_that_answer(drift=report(missing), asked=asked)
    for minute in range(4):
        look(flow, kafka, minute)
    assert (asked.count(("drift",)), codes(flow)) == (4, ["topic_missing"])


def test_a_comparison_that_failed_is_tried_with_the_next_look(flow, asked):
    kafka = clusters_that_answer(drift=None, asked=asked)
    watch = look(flow, kafka)
    assert "no broker answered" in watch.faults["drift"]
    look(flow, kafka, 1)
    assert asked.count(("drift",)) == 2


OVERRIDE = ConfigDrift(
    "retention.ms", "1", "default_config", "5", "dynamic_topic_config", "keep", "", True, True
)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ["config_deleted_next"], id="MirrorMaker 2 syncs settings"),
        pytest.param(
            {"sync.topic.configs.enabled": "false"}, ["config_differs"], id="its settings say so"
        ),
    ],
)
def test_what_mirror_maker_deletes_next_depends_on_its_own_settings(flow, settings, expected):
    configs = Configs()
    document = str({"properties": settings}).replace("'", '"').encode()
    configs.take(b"connector-MirrorSourceConnector", document)
    drifted = TopicDrift("orders", "east.orders", 1, 1, 1, 1, (OVERRIDE,))
    look(flow, clusters_that_answer(WireAnswers(configs=configs), drift=report(drifted)))
    assert codes(flow) == expected


def test_patterns_of_mirror_maker_itself_are_looked_at(flow):
    configs = Configs()
    configs.take(b"connector-MirrorSourceConnector", b'{"properties":{"topics":"a{1,3},b"}}')
    look(flow, clusters_that_answer(WireAnswers(configs=configs)))
    assert codes(flow) == ["broken_pattern"]


def test_two_flows_that_keep_names_both_ways_are_a_loop():
    there = make_flow("there", policy="identity", is_wanted=True, measured_at=NOW)
    make_flow("back", source="west", target="east", policy="identity", is_wanted=True)
    row(there)
    look(there)
    found = Finding.objects.get(code="loop")
    assert found.evidence == {"known_by": "The flow back replicates it back."}


@pytest.mark.parametrize(
    "back",
    [
        pytest.param(
            {"policy": "default", "is_wanted": True}, id="names tell where they came from"
        ),
        pytest.param({"policy": "identity"}, id="it is stopped"),
        pytest.param(
            {"policy": "identity", "is_wanted": True, "topics": ["clicks"]}, id="other topics"
        ),
    ],
)
def test_what_is_no_loop(back):
    there = make_flow("there", policy="identity", is_wanted=True, measured_at=NOW)
    make_flow("back", source="west", target="east", **back)
    row(there)
    look(there)
    assert "loop" not in codes(there)


def test_a_flow_into_its_own_cluster_is_found():
    make_cluster("east", cluster_id="x"), make_cluster("west", seen_cluster_id="x")
    flow = make_flow(measured_at=NOW)
    look(flow)
    assert codes(flow) == ["same_cluster"]
