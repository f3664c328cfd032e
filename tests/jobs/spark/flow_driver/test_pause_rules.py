"""Which partitions are held back, and why (rules H1 to H4)."""

from datetime import UTC, datetime

from jobs.cluster.descriptions import TopicPartition
from jobs.spark.control import Control
from jobs.spark.flow_driver.pause_rules import PAUSED_BY_USER, PauseRules

ORDERS, LOGS = TopicPartition("orders", 0), TopicPartition("logs", 3)
BOTH = [ORDERS, LOGS]
AT_NIGHT = Control.from_mapping({"windows": ["22:00-06:00"], "bulk_lag": 1000})
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, 0, tzinfo=UTC)


def test_h1_what_is_named_is_held_back():
    control = Control.from_mapping({"paused": ["logs:3"]})
    assert PauseRules().reasons(BOTH, {}, control, NOON) == {LOGS: PAUSED_BY_USER}


def test_h2_outside_of_the_windows_bulk_copying_waits_and_says_for_what():
    held = PauseRules().reasons(BOTH, {ORDERS: 5_000, LOGS: 10}, AT_NIGHT, NOON)
    assert held == {
        ORDERS: "Waiting for the catch-up window (22:00-06:00); it opens Fri 20 Nov 22:00 UTC."
    }


def test_h2_inside_of_the_windows_nothing_waits():
    assert PauseRules().reasons(BOTH, {ORDERS: 5_000}, AT_NIGHT, MIDNIGHT) == {}


def test_h2_without_windows_nothing_waits():
    assert PauseRules().reasons(BOTH, {ORDERS: 10**9}, Control(), NOON) == {}


def test_h3_a_burst_does_not_stop_what_had_caught_up_before():
    holding = PauseRules()
    holding.reasons(BOTH, {ORDERS: 900}, AT_NIGHT, MIDNIGHT)
    assert holding.reasons(BOTH, {ORDERS: 50_000}, AT_NIGHT, NOON) == {}


def test_h3_what_did_not_get_done_at_night_waits_for_the_next_one():
    holding = PauseRules()
    holding.reasons(BOTH, {ORDERS: 50_000}, AT_NIGHT, MIDNIGHT)
    assert list(holding.reasons(BOTH, {ORDERS: 20_000}, AT_NIGHT, NOON)) == [ORDERS]


def test_h4_unknown_lag_holds_nothing_back():
    assert PauseRules().reasons(BOTH, {}, AT_NIGHT, NOON) == {}


def test_when_the_window_opens_is_found_again_for_other_windows():
    holding = PauseRules()
    holding.reasons(BOTH, {ORDERS: 5_000}, AT_NIGHT, NOON)
    later = Control.from_mapping({"windows": ["23:00-06:00"], "bulk_lag": 1000})
    assert "23:00 UTC" in holding.reasons(BOTH, {ORDERS: 5_000}, later, NOON)[ORDERS]
