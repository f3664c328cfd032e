"""Objectives in reports: what was achieved in a period, and what it took of the budget."""

import pytest

from jobs.numbers import NO_BREAK
from jobs.objectives.objective import Window
from jobs.reports.kinds.objectives import MOST_VERDICTS, ObjectiveResult, objectives_sections
from jobs.severity import Severity

DAY = 86_400


def result(good, bad, subject="orders to west", target=0.999, name="RPO of 1 m"):
    return ObjectiveResult(subject, name, target, Window(DAY, good, bad), "/o/1/")


def blocks(*results):
    (section,) = objectives_sections(results, "flow")
    return section.blocks


def test_a_report_without_objectives_has_no_section():
    assert objectives_sections((), "flow") == ()


@pytest.mark.parametrize(
    ("good", "bad", "level", "word"),
    [
        pytest.param(DAY, 0, Severity.HEALTHY, "Met", id="always"),
        pytest.param(DAY - 86.4, 86.4, Severity.HEALTHY, "Met", id="all of the budget"),
        pytest.param(DAY - 87, 87, Severity.CRITICAL, "Missed", id="more than the budget"),
        pytest.param(0, 0, Severity.UNKNOWN, "Not measured", id="before it was set"),
        pytest.param(3600, 0, Severity.UNKNOWN, "Partly measured", id="measured for an hour"),
        pytest.param(3600, 60, Severity.UNKNOWN, "Partly measured", id="budget left of the day"),
        pytest.param(3600, 87, Severity.CRITICAL, "Missed", id="the day's budget spent in an hour"),
    ],
)
def test_the_verdict_is_that_of_the_budget(good, bad, level, word):
    verdict, table = blocks(result(good, bad))
    assert (verdict.level, verdict.word, table.rows[0][-1]) == (level, word, word)


def test_a_row_has_the_numbers_of_the_period():
    table = blocks(result(79_200 - 30, 30))[-1]
    assert [one.name for one in table.columns] == [
        "subject", "objective", "target", "achieved", "budget", "spent", "not_measured", "verdict",
    ]  # fmt: skip
    assert table.rows[0] == (
        "orders to west", "RPO of 1 m", 0.999, 79_170 / 79_200, 86_400, 30_000, 7_200_000, "Met",
    )  # fmt: skip


def test_time_that_was_not_measured_is_never_good():
    verdict, table = blocks(result(0, 0))
    assert verdict.sentence == "orders to west, RPO of 1 m: not measured in this period."
    assert table.rows[0][3:7] == (None, 86_400, None, DAY * 1000)


def test_the_sentence_has_target_budget_and_what_was_not_measured():
    verdict = blocks(result(79_200 - 120, 120))[0]
    assert verdict.sentence.replace(NO_BREAK, " ") == (
        "orders to west, RPO of 1 m: 99.8484 % of the measured time, target 99.90 %. "
        "2 m of the error budget of 1 m 26 s spent. 2 h not measured."
    )


def test_the_worst_objectives_come_first_and_the_table_has_all():
    good = [result(DAY, 0, f"flow {number:02}") for number in range(MOST_VERDICTS + 2)]
    *verdicts, table = blocks(*good, result(0, 0, "silent"), result(0, DAY, "worst"))
    assert [one.word for one in verdicts[:3]] == ["Missed", "Not measured", "Met"]
    assert (len(verdicts), len(table.rows)) == (MOST_VERDICTS, MOST_VERDICTS + 4)
