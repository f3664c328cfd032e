"""When a transaction holds the last stable offset for too long."""

import pytest

from jobs.cluster.descriptions import OpenTransaction
from jobs.cluster.stuck_offsets import held_too_long

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000


def held(**fields) -> OpenTransaction:
    return OpenTransaction(4, 0, 0, 100, **fields)


def known(began_ago_min: float, timeout_min: float = 1) -> OpenTransaction:
    return held(
        transactional_id="tx",
        state="Ongoing",
        is_known=True,
        started_ms=int(NOW_MS - began_ago_min * MINUTE_MS),
        timeout_ms=int(timeout_min * MINUTE_MS),
    )


@pytest.mark.parametrize(
    ("one", "seen_min", "is_long"),
    [
        pytest.param(known(0.5), 5, False, id="T1 open within its timeout"),
        pytest.param(known(14, timeout_min=15), 14, False, id="T1 a long timeout of its own"),
        pytest.param(known(1.5), 5, False, id="T1 its coordinator is about to abort it"),
        pytest.param(known(3), 5, True, id="T1 its coordinator should have aborted it"),
        pytest.param(known(3), 0.5, False, id="T1 seen for the first time"),
        pytest.param(held(transactional_id="tx", state="Empty"), 0.5, False, id="T2 markers come"),
        pytest.param(held(transactional_id="tx", state="Empty"), 2, True, id="T2 hanging"),
        pytest.param(held(), 15, False, id="T3 maybe the right is missing"),
        pytest.param(held(), 17, True, id="T3 longer than any transaction may be"),
        pytest.param(None, 15, False, id="T4 not to be asked, and not long"),
        pytest.param(None, 17, True, id="T4 not to be asked"),
    ],
)
def test_how_long_is_too_long(one, seen_min, is_long):
    since_ms = int(NOW_MS - seen_min * MINUTE_MS)
    assert held_too_long(one, since_ms=since_ms, now_ms=NOW_MS) is is_long
