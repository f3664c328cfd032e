"""What a new remote topic is like: partitions, replication factor with its origin, settings."""

import pytest

from jobs.replication.topics.changes import plan_creation
from jobs.replication.topics.config_sync import OWN_CONFIGS
from tests.jobs.replication.topics.making import default, flow, override, topic

OLD_LIMIT, AFTER, BEFORE = (
    f"message.timestamp.{kind}.max.ms" for kind in ("difference", "after", "before")
)


def create(configs=None, brokers=3, replicas=3, known=None, **settings):
    described = topic("orders", 4, replicas=replicas)
    return plan_creation(flow(**settings), described, "east.orders", configs or {}, brokers, known)


@pytest.mark.parametrize(
    ("settings", "factor", "origin"),
    [
        pytest.param({}, 3, "As on the source", id="as on the source"),
        pytest.param(
            {"brokers": 1}, 1, "The source has 3, but the target only 1", id="few brokers"
        ),
        pytest.param({"brokers": None}, 3, "As on the source", id="brokers not known"),
        pytest.param({"replication_factor": 2}, 2, "The flow's setting", id="the flow's"),
        pytest.param({"replicas": 0}, None, "did not answer", id="the target's default"),
    ],
)
def test_the_replication_factor_says_where_it_comes_from(settings, factor, origin):
    creation = create(**settings)
    assert creation.replication_factor == factor
    assert origin in creation.replication_factor_from


def test_the_remote_topic_has_the_source_s_partitions():
    assert create().spec().partitions == 4


def test_copies_are_taken_as_they_are():
    creation = create({"compression.type": override("gzip")})
    assert creation.configs.items() >= OWN_CONFIGS.items()


def test_what_decides_about_records_is_set_even_where_the_source_has_it_by_default():
    creation = create({"retention.ms": default("7"), "segment.ms": default("8")})
    assert creation.configs == {"retention.ms": "7", **OWN_CONFIGS}


def test_other_settings_are_taken_over_where_the_source_topic_sets_them():
    creation = create({"segment.ms": override("8"), "min.insync.replicas": override("2")})
    assert creation.configs == {"segment.ms": "8", **OWN_CONFIGS}


def test_an_excluded_setting_is_not_taken_over():
    creation = create(
        {"retention.ms": override("7")}, config_properties_exclude=(r"retention\..*",)
    )
    assert creation.configs == OWN_CONFIGS


def test_a_target_that_refuses_a_setting_gets_only_those_that_are_needed():
    creation = create({"segment.ms": override("8"), "retention.ms": override("7")})
    assert creation.spec_of_needed().configs == {"retention.ms": "7", **OWN_CONFIGS}


def test_what_the_targets_version_does_not_know_is_not_asked_for():
    configs = {AFTER: default("3600000"), "retention.ms": override("7"), "new": override("1")}
    creation = create(configs, known={"retention.ms", *OWN_CONFIGS})
    assert creation.configs == creation.needed == {"retention.ms": "7", **OWN_CONFIGS}


@pytest.mark.parametrize(
    ("configs", "limits"),
    [
        pytest.param({OLD_LIMIT: default("9")}, ("9", "9"), id="before Kafka 3.6"),
        pytest.param(
            {OLD_LIMIT: default("9"), AFTER: default("1"), BEFORE: default("2")},
            ("1", "2"),
            id="3.6 to 3.9, by default",
        ),
        pytest.param(
            {OLD_LIMIT: override("5"), AFTER: default("1"), BEFORE: default("2")},
            ("5", "5"),
            id="3.6 to 3.9, the old one is set",
        ),
        pytest.param(
            {OLD_LIMIT: override("5"), AFTER: override("1"), BEFORE: default("2")},
            ("1", "2"),
            id="3.6 to 3.9, a new one is set",
        ),
        pytest.param({AFTER: default("1"), BEFORE: default("2")}, ("1", "2"), id="4.0"),
    ],
)
def test_copies_are_taken_with_the_timestamps_that_the_source_takes(configs, limits):
    found = create(configs).configs
    assert (found[AFTER], found[BEFORE]) == limits


def test_a_creation_is_a_change_from_nothing():
    change = create().change()
    assert (change.topic, change.before) == ("east.orders", None)
    assert change.after == "4 partitions, replication factor 3"
