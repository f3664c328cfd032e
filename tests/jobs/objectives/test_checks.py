"""Alerts on error budgets: two windows each, and what is left of 30 days."""

import pytest

from jobs.objectives.checks import BUDGET, BURN, Judgeable, burns, spent
from jobs.objectives.objective import WINDOWS_S, Status, Window
from jobs.severity import Severity

TARGET = 0.999


def window(length, burn):
    """A window whose budget burned so fast; None: nothing was measured."""
    bad = 0.0 if burn is None else burn * (1 - TARGET) * length
    return Window(length, 0.0 if burn is None else length - bad, bad)


def judgeable(hour=0.0, six=0.0, recent=0.0, month=0.0):
    windows = map(window, WINDOWS_S, (recent, hour, six, month))
    return Judgeable(7, "RPO of 1 min", Status(TARGET, *windows))


@pytest.mark.parametrize(
    ("burned", "severity"),
    [
        pytest.param({"hour": 1, "six": 1, "recent": 1}, None, id="as allowed"),
        pytest.param({"hour": 15, "recent": 15}, Severity.CRITICAL, id="fast"),
        pytest.param({"hour": 15, "recent": 0}, None, id="fast, but over"),
        pytest.param({"hour": 1, "recent": 500}, None, id="fast, for a moment"),
        pytest.param({"hour": 15, "recent": None}, None, id="fast, not measured now"),
        pytest.param({"hour": 7, "six": 7}, Severity.WARNING, id="slow"),
        pytest.param({"hour": 1, "six": 7}, None, id="slow, but over"),
        pytest.param({"hour": 15, "six": 7, "recent": 0}, Severity.WARNING, id="slow, calm now"),
        pytest.param({"hour": None, "six": 9, "recent": 9}, None, id="not measured"),
    ],
)
def test_a_budget_that_burns_is_found_when_both_windows_agree(burned, severity):
    found = list(burns(judgeable(**burned), BURN.defaults))
    assert [one.severity for one in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("month", "severity"),
    [
        pytest.param(None, None, id="not measured"),
        pytest.param(0.5, None, id="half"),
        pytest.param(0.95, Severity.WARNING, id="5 % left"),
        pytest.param(1, Severity.CRITICAL, id="exactly spent"),
        pytest.param(1.5, Severity.CRITICAL, id="overspent"),
    ],
)
def test_what_is_left_of_the_budget_is_judged(month, severity):
    found = list(spent(judgeable(month=month), BUDGET.defaults))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_a_check_that_is_off_finds_nothing():
    one = judgeable(hour=99, recent=99, month=99)
    assert not [*burns(one, None), *spent(one, None)]


def test_a_finding_names_the_objective_and_how_fast_it_burns():
    (one,) = burns(judgeable(hour=20, recent=20), BURN.defaults)
    assert one.subject == "objective 7"
    assert one.sentence == (
        "RPO of 1 min: the error budget burned 20.0 times faster than allowed in the last 1 h."
    )
