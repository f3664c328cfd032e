"""The one set of status words, and the words of the releases before it."""

from __future__ import annotations

import pytest

from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.failover.model import CheckState
from jobs.severity import Severity
from jobs.spark.contract import Outcome


def test_the_words_are_in_the_order_of_their_ranks():
    assert [one.word for one in sorted(Severity, key=lambda one: one.rank)] == [
        "Unknown", "Healthy", "Info", "Warning", "Critical",
    ]  # fmt: skip
    assert [Severity.of_rank(one.rank) for one in Severity] == list(Severity)


@pytest.mark.parametrize(
    ("kind", "before", "now"),
    [
        pytest.param(Severity, "none", Severity.UNKNOWN, id="not judged"),
        pytest.param(Severity, "ok", Severity.HEALTHY, id="healthy"),
        pytest.param(Severity, "notice", Severity.INFO, id="info"),
        pytest.param(Severity, "warn", Severity.WARNING, id="warning"),
        pytest.param(
            Severity, "risk", Severity.CRITICAL, id="the step between warning and critical"
        ),
        pytest.param(Severity, "crit", Severity.CRITICAL, id="critical"),
        pytest.param(CheckState, "ok", CheckState.PASSED, id="pre-check passed"),
        pytest.param(CheckState, "warn", CheckState.WARNING, id="pre-check with a warning"),
        pytest.param(CheckState, "block", CheckState.FAILED, id="pre-check failed"),
        pytest.param(Readiness, "caution", Readiness.WARNING, id="readiness"),
        pytest.param(Outcome, "CRASHED", Outcome.CRASHED, id="crashed run"),
        pytest.param(Outcome, "STOPPED", Outcome.STOPPED, id="stopped run"),
    ],
)
def test_words_of_release_0_5_are_read(kind, before, now):
    assert kind(before) is now


@pytest.mark.parametrize("kind", [Severity, CheckState, Readiness, Outcome])
def test_other_words_are_refused(kind):
    with pytest.raises(ValueError, match="fine"):
        kind("fine")
