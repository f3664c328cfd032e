"""On a healthy flow the answer stays what it is; a real cause shows within half a minute."""

import pytest

from console.replication.flows.models import ReadinessChange
from tests.console.replication.checkpoints.rounds.simulation import GROUPS, Simulation

pytestmark = pytest.mark.django_db
HOUR_S = 3600
BEGIN_S = 60
# A broker is killed every ten minutes: for twelve seconds one partition has no leader.
RESTARTS = tuple((at, at + 12.0) for at in range(300, HOUR_S, 600))


def changes(group=""):
    """How often the answer became another one, without the first."""
    return ReadinessChange.objects.filter(group=group).count() - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "length_s",
    [
        pytest.param(1200, id="twenty minutes"),
        pytest.param(HOUR_S, id="an hour", marks=pytest.mark.campaign("soak")),
    ],
)
def test_a_healthy_flow_is_ready_and_changes_at_most_once_in(length_s):
    answers = Simulation(restarts=RESTARTS).go(BEGIN_S + length_s, BEGIN_S)
    ready = [second for second, word in answers if word == "ready"]
    assert len(answers) > length_s / 12
    assert len(ready) / len(answers) >= 0.99
    assert changes() <= 1
    assert all(changes(group) <= 1 for group in GROUPS)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "cause",
    [
        pytest.param("set_ahead_at", id="its offset on the target is set ahead"),
        pytest.param("members_at", id="it gets members on the target"),
        pytest.param("went_back_at", id="it goes back on the source without a checkpoint"),
    ],
)
def test_a_real_cause_shows_within_half_a_minute(cause, seed):
    at = BEGIN_S + 20 + seed * 2.6
    more = {"checkpoints_end_at": at} if cause == "went_back_at" else {}
    answers = Simulation(seed, **{cause: at}, **more).go(at + 60, BEGIN_S)
    assert {word for second, word in answers if second < at} == {"ready"}
    first = next(second for second, word in answers if word != "ready")
    assert first - at <= 30
    assert {word for second, word in answers if second >= first} == {"blocked"}
