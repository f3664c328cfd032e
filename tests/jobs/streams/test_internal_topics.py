"""Which topics belong to an application, by their names and settings."""

import pytest

from jobs.wire.topics.streams_topics import (
    changelog_store,
    internal_topics,
    is_repartition,
    own_topics,
    store_kind,
)

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("application_id", "group_ids", "own"),
    [
        pytest.param("orders", [], {"orders-a-changelog", "orders-eu-a-changelog"}, id="alone"),
        pytest.param("orders", ["orders-eu"], {"orders-a-changelog"}, id="the longer id wins"),
        pytest.param("orders-eu", ["orders"], {"orders-eu-a-changelog"}, id="as the longer one"),
        pytest.param(
            "orders",
            ["orders", "orders-e", "orders-eu-a-changelog"],
            {"orders-a-changelog", "orders-eu-a-changelog"},
            id="only whole ids count",
        ),
        pytest.param("order", [], set(), id="its own id as a whole, too"),
    ],
)
def test_the_longest_group_id_owns_a_topic(application_id, group_ids, own):
    topics = ["orders", "orders-a-changelog", "orders-eu-a-changelog", "payments"]
    assert own_topics(application_id, group_ids, topics) == own


@pytest.mark.parametrize(
    ("topic", "store"),
    [
        pytest.param("app-totals-changelog", "totals", id="named"),
        pytest.param("app-a-changelog-changelog", "a-changelog", id="the last suffix"),
        pytest.param(
            "app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog",
            "KSTREAM-AGGREGATE-STATE-STORE-0000000003",
            id="numbered",
        ),
        pytest.param("app-changelog", None, id="no name"),
        pytest.param("app--changelog", None, id="an empty name"),
        pytest.param("app-totals", None, id="no suffix"),
        pytest.param("other-totals-changelog", None, id="another application"),
    ],
)
def test_a_changelog_names_its_store(topic, store):
    assert changelog_store("app", topic) == store


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("by-customer-repartition", True, id="repartition"),
        pytest.param("join-subscription-registration-topic", True, id="join, there"),
        pytest.param("join-subscription-response-topic", True, id="join, back"),
        pytest.param(
            "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", True, id="numbered, there"
        ),
        pytest.param(
            "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic", True, id="numbered, back"
        ),
        pytest.param("KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-14-topic", False, id="nine digits"),
        pytest.param(
            "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-000000001x-topic", False, id="no number"
        ),
        pytest.param("totals-changelog", False, id="changelog"),
        pytest.param("input-topic", False, id="the user's own"),
    ],
)
def test_repartition_topics_are_known_by_their_names(name, expected):
    assert is_repartition("app", f"app-{name}") is expected


def test_internal_topics_leave_out_what_users_named_alike():
    topics = ["app-a-changelog", "app-b-repartition", "app-input", "orders"]
    assert internal_topics("app", topics) == {"app-a-changelog", "app-b-repartition"}


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        pytest.param({"cleanup.policy": "compact"}, "key-value", id="compact"),
        pytest.param({"cleanup.policy": "compact,delete"}, "window or session", id="both"),
        pytest.param({"cleanup.policy": "delete, compact"}, "window or session", id="both, spaced"),
        pytest.param(
            {"cleanup.policy": "compact", "min.compaction.lag.ms": str(2 * DAY_MS)},
            "versioned",
            id="compaction waits for the history",
        ),
        pytest.param(
            {"cleanup.policy": "compact", "min.compaction.lag.ms": "60000"},
            "key-value",
            id="compaction waits a little",
        ),
        pytest.param({"cleanup.policy": "delete"}, None, id="delete"),
        pytest.param({}, None, id="not reported"),
    ],
)
def test_the_kind_of_a_store_follows_from_its_settings(settings, kind):
    assert store_kind(settings) == kind
