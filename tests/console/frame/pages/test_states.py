import pytest

from console.frame.pages.states import ICONS, Severity, severity_of, spoken, worst


@pytest.mark.parametrize(
    ("word", "severity", "text"),
    [
        pytest.param("RUNNING", "ok", "Running", id="run"),
        pytest.param("caught_up", "ok", "Caught up", id="partition of a flow"),
        pytest.param(
            "PreparingRebalance", "notice", "Preparing rebalance", id="group as Kafka writes it"
        ),
        pytest.param("UnderReplicated", "warn", "Under replicated", id="topic"),
        pytest.param("at-min-isr", "risk", "At min ISR", id="with hyphens"),
        pytest.param("ERRORED", "crit", "Errored", id="errored run"),
        pytest.param("no commit", "notice", "No commit", id="with a blank"),
        pytest.param("Whatever", "none", "Whatever", id="unknown word"),
    ],
)
def test_severity_and_spelling_of_a_state_word(word, severity, text):
    assert (severity_of(word), spoken(word)) == (severity, text)


def test_each_severity_has_an_icon_shape_of_its_own():
    assert set(ICONS) == set(Severity)
    assert len(set(ICONS.values())) == len(ICONS)


def test_worst_of_several():
    assert worst([Severity.OK, Severity.RISK, Severity.WARN]) == Severity.RISK
    assert worst([]) == Severity.NONE
