"""The state of an objective, by its budget and burn rates."""

import pytest

from jobs.objectives.checks import BUDGET, BURN, Judgeable, judge
from jobs.objectives.objective import WINDOWS_S, Status, Window
from jobs.severity import Severity

BUDGET_S, PERIOD_S = 2592, WINDOWS_S[-1]


def status(hour=(3600, 0), six_hours=(21_600, 0), period=(PERIOD_S, 0), recent=(600, 300)):
    windows = zip(WINDOWS_S, (recent, hour, six_hours, period), strict=True)
    return Status(0.999, *(Window(span, good - bad, bad) for span, (good, bad) in windows))


@pytest.mark.parametrize(
    ("windows", "severity"),
    [
        pytest.param({}, Severity.HEALTHY, id="nothing spent"),
        pytest.param({"hour": (3600, 51)}, Severity.HEALTHY, id="just below the fast rate"),
        pytest.param({"hour": (3600, 52)}, Severity.CRITICAL, id="the fast rate in an hour"),
        pytest.param(
            {"hour": (3600, 52), "recent": (600, 0)}, Severity.HEALTHY, id="the fast rate ended"
        ),
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
    assert state_of(status(**windows)) == severity


def state_of(found, burn=BURN.defaults, budget=BUDGET.defaults):
    return judge(Judgeable(1, "", found), burn, budget)[0]


def test_the_thresholds_are_those_of_the_checks():
    burning = status((3600, 10), (21_600, 60))
    limits = BURN.defaults | {"slow_burn": 2}
    assert state_of(burning, limits, None) == Severity.WARNING
    assert state_of(burning, None) == Severity.UNKNOWN


def test_what_no_check_judges_is_unknown():
    spent = status(period=(PERIOD_S, BUDGET_S + 1))
    assert state_of(spent, BURN.defaults, None) == Severity.UNKNOWN


def test_burn_rates_are_those_of_an_hour_six_hours_and_the_period():
    rates = status((3600, 36), (0, 0), (PERIOD_S, BUDGET_S)).burns
    assert rates == {"1h": 10, "6h": None, "30d": 1}


def test_time_without_a_step_is_not_measured():
    found = status(period=(PERIOD_S - 7200, 0)).period
    assert found.not_measured_s == 7200
    assert found.achieved == 1


def test_what_is_spent_beyond_the_budget_is_told_apart():
    assert status(period=(PERIOD_S, BUDGET_S + 180)).overspent_s == pytest.approx(180)
    assert status(period=(PERIOD_S, 180)).overspent_s == 0
