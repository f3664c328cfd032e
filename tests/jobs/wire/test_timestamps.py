"""Timestamps of records as times."""

from datetime import UTC, datetime

import pytest

from jobs.wire.values import utc_time


def test_a_timestamp_is_a_time():
    assert utc_time(1_700_000_000_000) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize("timestamp_ms", [None, 2**63 - 1, -(2**63), 253_402_300_800_000], ids=str)
def test_what_no_calendar_has_is_no_time(timestamp_ms):
    assert utc_time(timestamp_ms) is None
