"""min.insync.replicas: which value is in force, and who sets it."""

import pytest

from jobs.availability.status.min_isr import (
    NOT_KNOWN,
    MinIsr,
    MinIsrOrigin,
    described_min_isr,
    resolve_min_isr,
)

STATIC = MinIsr(2, MinIsrOrigin.STATIC)
KAFKA = MinIsr(1, MinIsrOrigin.KAFKA)
OLD_TOPIC = MinIsr(3, MinIsrOrigin.TOPIC)
OLD_CLUSTER = MinIsr(2, MinIsrOrigin.CLUSTER)
BROKER = MinIsr(4, MinIsrOrigin.BROKER)


@pytest.mark.parametrize(
    ("topic", "cluster", "described", "is_log_known", "found"),
    [
        pytest.param(3, 2, STATIC, True, MinIsr(3, MinIsrOrigin.TOPIC), id="the topic comes first"),
        pytest.param(None, 2, STATIC, True, MinIsr(2, MinIsrOrigin.CLUSTER), id="then the cluster"),
        pytest.param(None, 2, BROKER, True, BROKER, id="a value of the broker hides the cluster's"),
        pytest.param(None, None, STATIC, True, STATIC, id="a static value is only described"),
        pytest.param(None, None, KAFKA, True, KAFKA, id="so is Kafka's default"),
        pytest.param(None, None, OLD_TOPIC, True, NOT_KNOWN, id="the log no longer sets it"),
        pytest.param(None, None, OLD_CLUSTER, True, NOT_KNOWN, id="likewise for the cluster"),
        pytest.param(None, None, OLD_TOPIC, False, OLD_TOPIC, id="without a log the answer counts"),
        pytest.param(None, None, NOT_KNOWN, False, NOT_KNOWN, id="unknown"),
    ],
)
def test_the_value_in_force(topic, cluster, described, is_log_known, found):
    assert found == resolve_min_isr(
        topic=topic, cluster=cluster, described=described, is_log_known=is_log_known
    )


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("DYNAMIC_TOPIC_CONFIG", MinIsrOrigin.TOPIC),
        ("DYNAMIC_DEFAULT_BROKER_CONFIG", MinIsrOrigin.CLUSTER),
        ("STATIC_BROKER_CONFIG", MinIsrOrigin.STATIC),
        ("DEFAULT_CONFIG", MinIsrOrigin.KAFKA),
        ("", MinIsrOrigin.UNKNOWN),
    ],
)
def test_the_words_of_describe_configs(source, origin):
    assert described_min_isr(2, source).origin is origin
