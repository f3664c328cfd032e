"""Which topics Kafka Streams makes for an application; more of it where applications are read."""

import pytest

from jobs.wire.topics.streams_topics import is_internal


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        pytest.param("shop-totals-by-customer-repartition", True, id="repartition"),
        pytest.param("shop-totals-totals-changelog", True, id="changelog"),
        pytest.param("shop-totals-KTABLE-AGGREGATE-STATE-STORE-0000000007-changelog", True, id="KTABLE"),
        pytest.param("shop-totals-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition", True, id="KSTREAM"),
        pytest.param("shop-totals-join-subscription-registration-topic", True, id="foreign key, there"),
        pytest.param("shop-totals-join-subscription-response-topic", True, id="foreign key, back"),
        pytest.param("shop-totals-changelog", False, id="without a name"),
        pytest.param("orders-repartition", False, id="of another application"),
        pytest.param("east.shop-totals-by-customer-repartition", False, id="a copy under another name"),
        pytest.param("orders", False, id="an input"),
    ],
)  # fmt: skip
def test_the_internal_topics_of_an_application(topic, expected):
    assert is_internal("shop-totals", topic) is expected
