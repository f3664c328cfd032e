"""When maintenance windows are active."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks.maintenance import Window, active_windows

# A Friday.
START = datetime(2026, 5, 1, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rrule", "after", "is_active"),
    [
        pytest.param("", timedelta(minutes=-1), False, id="before"),
        pytest.param("", timedelta(), True, id="from its start"),
        pytest.param("", timedelta(minutes=59), True, id="until its end"),
        pytest.param("", timedelta(hours=1), False, id="after"),
        pytest.param("FREQ=WEEKLY", timedelta(days=7, minutes=5), True, id="next week"),
        pytest.param("FREQ=WEEKLY", timedelta(days=6, minutes=5), False, id="another day"),
        pytest.param("RRULE:FREQ=DAILY;COUNT=2", timedelta(days=1), True, id="the second of two"),
        pytest.param("FREQ=DAILY;COUNT=2", timedelta(days=2), False, id="after two"),
        pytest.param("FREQ=DAILY;UNTIL=20260502", timedelta(days=1), True, id="its last day"),
        pytest.param(
            "FREQ=DAILY;UNTIL=20260502", timedelta(days=2), False, id="after its last day"
        ),
        pytest.param("FREQ=SECONDLY", timedelta(), False, id="a rule that is not usable"),
    ],
)
def test_when_a_window_is_active(rrule, after, is_active):
    window = Window("Patches", START, 3600, rrule=rrule)
    assert bool(active_windows([window], START + after)) is is_active
