"""When a program counts as one that gets nothing done, and what is kept of its restarts."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from console.frame.processes.liveness import (
    FED_WITHIN_S,
    RESTARTS,
    InactiveTime,
    LivenessSigns,
    Restart,
    restarts_since,
)

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)


def listened(*looks):
    """Return the silence after looks, each (last sign, seconds since the look before)."""
    found = InactiveTime()
    for sign, passed_s in looks:
        found = found.after(sign, passed_s)
    return found


@pytest.mark.parametrize(
    ("looks", "is_too_long"),
    [
        pytest.param([(7.0, 1.0)] * 120, False, id="two minutes are not over"),
        pytest.param([(7.0, 1.0)] * 121, True, id="nothing for two minutes"),
        pytest.param(
            [(7.0, 1.0)] * 120 + [(8.0, 1.0)] + [(8.0, 1.0)] * 119, False, id="a sign in between"
        ),
        pytest.param([(float(n), 1.0) for n in range(1, 500)], False, id="a sign every second"),
        pytest.param(
            [(7.0, 1.0), (7.0, 86_400.0)], False, id="the machine was suspended for a day"
        ),
        pytest.param([(7.0, 1.0)] + [(7.0, 30.0)] * 50, False, id="the supervisor hardly runs"),
        pytest.param([(7.0, 1.0)] + [(7.0, 0.0)] * 500, False, id="it gets no work"),
        pytest.param([(0.0, 1.0)] * 299, False, id="it still starts"),
        pytest.param([(0.0, 1.0)] * 300, True, id="it never came up"),
        pytest.param([(0.0, 1.0)] * 299 + [(7.0, 1.0)], False, id="it came up late"),
    ],
)
def test_what_gets_nothing_done_for_two_minutes_is_stuck(looks, is_too_long):
    assert listened(*looks).is_too_long(120.0) is is_too_long


@pytest.mark.parametrize(
    ("looks", "feeds"),
    [
        pytest.param([], False, id="not up yet"),
        pytest.param([(7.0, 1.0)], True, id="just now"),
        pytest.param([(7.0, 1.0)] * int(FED_WITHIN_S + 1), False, id="not lately"),
    ],
)
def test_others_are_fed_by_what_just_got_something_done(looks, feeds):
    assert listened(*looks).feeds is feeds


def test_a_program_that_starts_has_no_sign(tmp_path):
    signs = LivenessSigns(tmp_path / "alive")
    assert signs.last("web") is None
    signs.expect("web")
    assert signs.last("web") == 0
    now = time.monotonic_ns()
    os.utime(tmp_path / "alive" / "web", ns=(now, now))
    assert signs.last("web") == pytest.approx(now / 1e9, abs=0.01)
    signs.expect("web")
    assert signs.last("web") == 0


def test_restarts_are_kept_and_the_oldest_forgotten(tmp_path):
    signs = LivenessSigns(tmp_path)
    for minute in range(60):
        signs.note_restart(Restart("collect", NOW + timedelta(minutes=minute), 120, "collect.log"))
    found = restarts_since(tmp_path, NOW + timedelta(minutes=58))
    assert [one.at.minute for one in found] == [10, 11]
    assert len((tmp_path / RESTARTS).read_text().splitlines()) == 51


@pytest.mark.parametrize("text", ["", "{}", "no json\n", '{"program": 1}\n'])
def test_what_cannot_be_read_of_restarts_is_left_out(tmp_path, text):
    (tmp_path / RESTARTS).write_text(text)
    assert restarts_since(tmp_path, NOW) == []
    assert restarts_since(tmp_path / "missing", NOW) == []
