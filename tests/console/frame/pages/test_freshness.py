from datetime import UTC, datetime, timedelta

import pytest

from console.frame.pages.freshness import Freshness, oldest, stale_after_s

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
AGO_12 = NOW - timedelta(seconds=12)


@pytest.mark.parametrize(
    ("freshness", "is_stale"),
    [
        pytest.param(Freshness("topics", AGO_12, stale_after_s=60), False, id="young"),
        pytest.param(
            Freshness("topics", NOW - timedelta(seconds=61), stale_after_s=60), True, id="too old"
        ),
        pytest.param(
            Freshness("import", NOW - timedelta(days=61)), False, id="nothing comes by itself"
        ),
        pytest.param(Freshness("topics", None), True, id="never read"),
        pytest.param(
            Freshness("topics", AGO_12, failing_since=NOW), True, id="failing, however young"
        ),
    ],
)
def test_staleness(freshness, is_stale):
    assert freshness.is_stale(NOW) is is_stale


@pytest.mark.parametrize(
    ("every_s", "duration_ms", "late_s"),
    [
        pytest.param(10, 200, 30.8, id="asked every 10 s"),
        pytest.param(5, None, 30, id="a busy moment makes nothing stale"),
        pytest.param(60, None, 180, id="asked rarely"),
        pytest.param(10, 100_000, 430, id="a round that takes long is followed by a long rest"),
    ],
)
def test_rows_are_late_after_three_rounds_that_did_not_come(every_s, duration_ms, late_s):
    assert stale_after_s(every_s, duration_ms) == late_s


def test_age_is_in_seconds_and_never_negative():
    assert Freshness("topics", AGO_12).age_s(NOW) == 12
    assert Freshness("topics", NOW + timedelta(seconds=3)).age_s(NOW) == 0
    assert Freshness("topics", None).age_s(NOW) is None


def test_a_panel_of_several_kinds_of_rows_shows_the_worst_of_them():
    young, old = Freshness("topics", NOW), Freshness("groups", AGO_12)
    failing = Freshness("offsets", NOW, failing_since=NOW)
    assert oldest([young, old]) is old
    assert oldest([young, old, failing]) is failing
    assert oldest([young, Freshness("brokers", None), old]).noun == "brokers"
    assert oldest([]) is None
