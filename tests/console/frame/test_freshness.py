from datetime import UTC, datetime, timedelta

import pytest

from console.frame.freshness import Freshness, oldest

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
AGO_12 = NOW - timedelta(seconds=12)


@pytest.mark.parametrize(
    ("freshness", "is_stale"),
    [
        pytest.param(Freshness("topics", AGO_12), False, id="young"),
        pytest.param(Freshness("topics", NOW - timedelta(seconds=61)), True, id="too old"),
        pytest.param(Freshness("topics", None), True, id="never read"),
        pytest.param(
            Freshness("topics", AGO_12, failing_since=NOW), True, id="failing, however young"
        ),
    ],
)
def test_staleness(freshness, is_stale):
    assert freshness.is_stale(NOW, limit_s=60) is is_stale


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
