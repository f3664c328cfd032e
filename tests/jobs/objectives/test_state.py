"""The state of an objective, by its budget and burn rates."""

import pytest

from jobs.objectives.checks import BUDGET, BURN, severity_of
from jobs.objectives.objective import HOUR_S, PERIOD_S, SIX_HOURS_S, Status, Window
from jobs.severity import Severity

BUDGET_S = 2592


def status(hour=(3600, 0), six_hours=(21_600, 0), period=(PERIOD_S, 0)):
    windows = zip((HOUR_S, SIX_HOURS_S, PERIOD_S), (hour, six_hours, period), strict=True)
    return Status(0.999, *(Window(span, good - bad, bad) for span, (good, bad) in windows))


@pytest.mark.parametrize(
    ("windows", "severity"),
    [
        pytest.param({}, Severity.HEALTHY, id="nothing spent"),
        pytest.param({"hour": (3600, 51)}, Severity.HEALTHY, id="just below the fast rate"),
        pytest.param({"hour": (3600, 52)}, Severity.CRITICAL, id="the fast rate in an hour"),
        pytest.param(
            {"hour": (3600, 22), "six_hours": (21_600, 129)},
            Severity.HEALTHY, id="just below the slow rate",
        ),
        pytest.param(
            {"hour": (3600, 22), "six_hours": (21_600, 130)},
            Severity.WARNING, id="the slow rate in an hour and in 6 hours",
        ),
        pytest.param({"six_hours": (21_600, 130)}, Severity.HEALTHY, id="the slow rate ended"),
        pytest.param(
            {"period": (PERIOD_S, BUDGET_S * 0.91)}, Severity.WARNING, id="a tenth of the budget left"
        ),
        pytest.param({"period": (PERIOD_S, BUDGET_S + 1)}, Severity.CRITICAL, id="overspent"),
        pytest.param({"hour": (0, 0)}, Severity.UNKNOWN, id="an hour not measured"),
        pytest.param(
            {"hour": (0, 0), "six_hours": (0, 0), "period": (PERIOD_S, 9999)},
            Severity.CRITICAL, id="overspent before six hours not measured",
        ),
        pytest.param(
            {"hour": (0, 0), "six_hours": (0, 0), "period": (0, 0)}, Severity.UNKNOWN, id="never",
        ),
    ],
)  # fmt: skip
def test_the_state_is_that_of_the_budget_and_the_burn_rates(windows, severity):
    assert severity_of(status(**windows), BURN.defaults, BUDGET.defaults) == severity


def test_the_thresholds_are_those_of_the_checks():
    burning = status((3600, 10), (21_600, 60))
    limits = BURN.defaults | {"slow_burn": 2}
    assert severity_of(burning, limits, None) == Severity.WARNING
    assert severity_of(burning, None, None) == Severity.HEALTHY


def test_a_spent_budget_is_critical_without_its_check():
    spent = status(period=(PERIOD_S, BUDGET_S + 1))
    assert severity_of(spent, None, None) == Severity.CRITICAL


def test_burn_rates_are_those_of_an_hour_six_hours_and_the_period():
    rates = status((3600, 36), (0, 0), (PERIOD_S, BUDGET_S)).burns
    assert rates == (pytest.approx(10), None, pytest.approx(1))


def test_time_without_a_step_is_not_measured():
    found = status(period=(PERIOD_S - 7200, 0)).period
    assert found.not_measured_s == 7200
    assert found.achieved == 1


def test_what_is_spent_beyond_the_budget_is_told_apart():
    assert status(period=(PERIOD_S, BUDGET_S + 180)).overspent_s == pytest.approx(180)
    assert status(period=(PERIOD_S, 180)).overspent_s == 0
