"""When an incident opens, and when it is resolved."""

import pytest

from jobs.checks.damping import Damping, Wait, plausible_s

KEY = "broker:1:3"


class Rounds:
    """Rounds of one cause, with the open incident that follows."""

    def __init__(self, open_after_s=0.0, close_after_s=30.0):
        self.wait = Wait(open_after_s, close_after_s)
        self.damping = Damping()
        self.is_open = False

    def see(self, what: str, lasted_s: float = 5.0) -> bool:
        self.damping, opened, resolved = self.damping.after(
            {KEY: self.wait},
            {KEY} if what == "cause" else set(),
            {KEY} if what == "effects" else set(),
            {KEY} if self.is_open else set(),
            lasted_s,
        )
        self.damping = Damping.from_mapping(self.damping.to_mapping())
        self.is_open = (self.is_open or KEY in opened) and KEY not in resolved
        return self.is_open


@pytest.mark.parametrize(
    ("open_after_s", "seen", "is_open"),
    [
        pytest.param(0, "c", False, id="one round"),
        pytest.param(0, "cc", True, id="two rounds agree"),
        pytest.param(0, "c-c", False, id="two rounds not in a row"),
        pytest.param(12, "ccc", False, id="not long enough"),
        pytest.param(12, "cccc", True, id="long enough"),
        pytest.param(12, "ccc-ccc", False, id="a gap begins again"),
        pytest.param(0, "cc-----", True, id="a short absence"),
        pytest.param(0, "cc------", False, id="a long absence"),
        pytest.param(0, "cc-----c-----", True, id="absences that are not in a row"),
        pytest.param(0, "cceeeeeeeeee", True, id="effects are left"),
        pytest.param(0, "cceeeeeeeeee------", False, id="effects ended"),
    ],
)
def test_when_an_incident_opens_and_is_resolved(open_after_s, seen, is_open):
    rounds = Rounds(open_after_s)
    for one in seen:
        rounds.see({"c": "cause", "e": "effects", "-": "nothing"}[one])
    assert rounds.is_open is is_open


def test_effects_belong_to_their_cause_for_ten_minutes():
    rounds = Rounds()
    rounds.see("cause")
    rounds.see("cause")
    seen = []
    for _ in range(121):
        rounds.see("effects")
        seen.append(rounds.damping.is_recovering(KEY))
    assert (seen.count(True), seen[0], seen[-1]) == (119, True, False)


@pytest.mark.parametrize("jump_s", [3600, -3600], ids=["ahead", "back"])
def test_a_clock_that_jumps_opens_nothing_and_resolves_nothing(jump_s):
    waits, absent = Rounds(open_after_s=60), Rounds()
    for rounds in (waits, absent):
        rounds.see("cause")
        rounds.see("cause")
    assert (waits.is_open, absent.is_open) == (False, True)
    lasted_s = plausible_s(jump_s, 5)
    assert not waits.see("cause", lasted_s)
    assert absent.see("nothing", lasted_s)


@pytest.mark.parametrize(
    ("passed_s", "every_s", "counted_s"),
    [
        pytest.param(None, 5, 0, id="the first round"),
        pytest.param(7.5, 5, 7.5, id="a round"),
        pytest.param(59, 5, 59, id="a slow round"),
        pytest.param(300, 120, 300, id="rare rounds"),
        pytest.param(3600, 5, 5, id="the clock was set ahead"),
        pytest.param(-3600, 5, 5, id="the clock was set back"),
    ],
)
def test_what_time_between_two_rounds_counts(passed_s, every_s, counted_s):
    assert plausible_s(passed_s, every_s) == counted_s
