import re
from pathlib import Path

import pytest

from console.frame.pages.states import ICONS, severity_of, spoken, worst
from jobs.severity import Severity


@pytest.mark.parametrize(
    ("word", "severity", "text"),
    [
        pytest.param("RUNNING", "healthy", "Running", id="run"),
        pytest.param("ok", "healthy", "Healthy", id="one word for what is as it should be"),
        pytest.param("caught_up", "healthy", "Caught up", id="partition of a flow"),
        pytest.param(
            "PreparingRebalance", "info", "Preparing rebalance", id="group as Kafka writes it"
        ),
        pytest.param("UnderReplicated", "warning", "Under replicated", id="topic"),
        pytest.param("at-min-isr", "warning", "At min ISR", id="with hyphens"),
        pytest.param("CRASHED", "critical", "Crashed", id="crashed run"),
        pytest.param("no commit", "info", "No commit", id="with a blank"),
        pytest.param("Whatever", "unknown", "Whatever", id="unknown word"),
    ],
)
def test_severity_and_spelling_of_a_state_word(word, severity, text):
    assert (severity_of(word), spoken(word)) == (severity, text)


def test_each_severity_has_an_icon_shape_of_its_own():
    assert set(ICONS) == set(Severity)
    assert len(set(ICONS.values())) == len(ICONS)


def test_worst_of_several():
    assert worst([Severity.HEALTHY, Severity.CRITICAL, Severity.WARNING]) == Severity.CRITICAL
    assert worst([]) == Severity.UNKNOWN


ROOT = Path(__file__).parents[4]
# {% state "warning" "Lagging" %}, severity="warning" word="Lagging", "severity": "warning", "word": "Lagging"
WRITTEN = re.compile(
    r"""(?:\{% state |severity=(?="\w+" word=)|"severity": (?:"" if \w+ else |\w+ if \w+ else )?)"(\w+)"(?:,? (?:word=|"word": )?"([^"]+)")?"""
)


def test_pages_name_severities_that_exist_and_what_is_unknown_is_grey():
    pages = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "console").rglob("*.py")]
    found = [(page, *told) for page in pages for told in WRITTEN.findall(page.read_text())]
    assert len(found) > 200
    assert [one for one in found if one[1] not in {*Severity}] == []
    assert {severity for _, severity, word in found if word == "Unknown"} == {"unknown"}
