"""Rules about internal topics: partitions and settings, and topics of no application."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks.settings import Setting, Settings
from jobs.streams.application import Confidence
from jobs.streams.assembly import application_of
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.orphans import ORPHANS, ClusterTopics, is_orphan, judge_orphans
from jobs.streams.audit.topics import judge_partitions, judge_settings
from tests.jobs.streams.written import TOPICS, facts, observation, two_processes

LOG, REPARTITION = "app-totals-changelog", "app-by-city-repartition"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def seen(topics=None, confidence=Confidence.GIVEN, sources=("orders",), is_stateful=True):
    one = observation(two_processes(), TOPICS | (topics or {}))
    application = application_of(one)
    part = replace(
        application.subtopologies["0"], source_topics=sources, partitions=4, is_stateful=is_stateful
    )
    stores = {
        name: replace(store, confidence=confidence) for name, store in application.stores.items()
    }
    return Seen(replace(application, subtopologies={"0": part}, stores=stores), one.facts)


def judged(rule, one):
    return {found.check.id.removeprefix("streams_"): found.holds for found in rule(one)}


def without(one):
    return replace(one, facts=replace(one.facts, topics={}))


TWO = ("orders", REPARTITION)


@pytest.mark.parametrize(
    ("one", "holds"),
    [
        pytest.param(seen(), {}, id="as many as tasks"),
        pytest.param(seen({LOG: facts(3)}), {True}, id="changelog"),
        pytest.param(seen({LOG: facts(3)}, Confidence.OPEN), {None}, id="store not settled"),
        pytest.param(seen({REPARTITION: facts(2)}, sources=TWO), {}, id="merged inputs may differ"),
        pytest.param(without(seen()), {None}, id="topic not seen"),
    ],
)  # fmt: skip
def test_internal_topics_have_as_many_partitions_as_tasks(one, holds):
    assert {found.holds for found in judge_partitions(one)} == set(holds)


def test_a_changelog_that_does_not_fit_is_named():
    (found,) = judge_partitions(seen({LOG: facts(3)}))
    assert found.evidence["topic_count"] == 1
    assert f"{LOG} has 3 partitions, and subtopology 0 has 4 tasks" in found.text


def settings(**more):
    return {name.replace("_", "."): value for name, value in more.items()}


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        pytest.param(LOG, settings(cleanup_policy="compact"), None, id="key-value store"),
        pytest.param(LOG, settings(cleanup_policy="compact,delete", retention_bytes="-1"), None, id="may be a window store"),
        pytest.param(LOG, settings(cleanup_policy="delete"), "cleanup.policy=delete", id="changelog is not compacted"),
        pytest.param(LOG, settings(cleanup_policy="compact,delete", retention_bytes="1000"), "retention.bytes=1000", id="limit in bytes"),
        pytest.param(LOG, settings(cleanup_policy="compact", retention_bytes="1000"), None, id="limit that has no effect"),
        pytest.param("app-KTABLE-REDUCE-STATE-STORE-0000000001-changelog", settings(cleanup_policy="compact,delete"), "cleanup.policy=compact,delete", id="table that deletes"),
        pytest.param("app-KSTREAM-JOINTHIS-0000000004-store-changelog", settings(cleanup_policy="compact"), "cleanup.policy=compact", id="window that does not delete"),
        pytest.param(REPARTITION, settings(cleanup_policy="delete", retention_ms="-1"), None, id="repartition topic"),
        pytest.param(REPARTITION, settings(cleanup_policy="delete", retention_ms="9223372036854775807"), None, id="largest number"),
        pytest.param(REPARTITION, settings(cleanup_policy="delete", retention_ms="604800000"), "retention.ms=604800000", id="repartition topic with retention"),
        pytest.param(REPARTITION, settings(cleanup_policy="compact"), "cleanup.policy=compact", id="repartition topic compacts"),
    ],
)  # fmt: skip
def test_settings_that_lose_records_are_named(name, told, expected):
    found = list(judge_settings(seen({name: facts(4, **told)})))
    assert [one.evidence["topics"] for one in found] == ([{name: expected}] if expected else [])


@pytest.mark.parametrize(
    ("of_input", "own", "expected"),
    [(3, 1, {True}), (1, 1, set()), (None, 1, set()), (3, None, set())],
)
def test_one_replica_is_named_where_an_input_has_more(of_input, own, expected):
    topics = {
        "orders": replace(facts(4), replicas=of_input),
        LOG: replace(TOPICS[LOG], replicas=own),
    }
    assert {found.holds for found in judge_settings(seen(topics))} == expected


def test_settings_that_were_not_read_are_not_known():
    assert judged(judge_settings, seen({LOG: facts(4)})) == {"internal_topic_settings": None}


@pytest.mark.parametrize(
    ("topic", "groups", "expected"),
    [
        pytest.param(LOG, {"app"}, False, id="its application is there"),
        pytest.param(LOG, {"ap", "app-totals", "other"}, True, id="ids that do not fit"),
        pytest.param("app-eu-totals-changelog", {"app"}, False, id="may be of the shorter id"),
        pytest.param(REPARTITION, set(), True, id="repartition topic"),
        pytest.param("my-app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000007-topic", set(), True, id="numbered join"),
        pytest.param("customer-changelog", set(), False, id="no store"),
        pytest.param("orders-topic", set(), False, id="any topic"),
    ],
)  # fmt: skip
def test_an_internal_topic_of_no_group_is_an_orphan(topic, groups, expected):
    assert is_orphan(topic, groups) is expected


def orphans(waited, settings_=(), **fields):
    one = ClusterTopics(1, "east", {LOG: 40, REPARTITION: None}, {"other"}, **fields)
    return judge_orphans(one, Settings.of(settings_), waited, 60, NOW)


def test_orphans_are_found_after_a_day():
    found, waited = orphans({LOG: 86_400, REPARTITION: 10})
    assert waited == {LOG: 86_460, REPARTITION: 70}
    assert [one.evidence["topics"] for one in found] == [[LOG]]
    assert found[0].since == NOW - timedelta(seconds=86_460)


@pytest.mark.parametrize(
    ("settings_", "fields", "expected"),
    [
        pytest.param((), {}, [[REPARTITION, LOG]], id="several"),
        pytest.param(
            (Setting(ORPHANS.id, topic="app-*", is_excluded=True),), {}, [], id="excluded"
        ),
        pytest.param((), {"copies": {LOG, REPARTITION}}, [], id="written by a flow"),
    ],
)
def test_one_finding_names_all_orphans_of_a_cluster(settings_, fields, expected):
    found, _ = orphans(dict.fromkeys((LOG, REPARTITION), 86_400), settings_, **fields)
    assert [one.evidence["topics"] for one in found] == expected
