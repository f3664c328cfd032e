"""Which findings of a flow are kept where there are more than there is room for."""

from datetime import timedelta

import pytest

from console.replication.findings.models import FlowFinding, FlowWatch
from console.replication.findings.store import MOST_OPEN, save_look
from jobs.replication.findings.finding import Code, Finding
from jobs.severity import Severity
from tests.console.making import NOW, make_flow

pytestmark = pytest.mark.django_db
MILD, *_, WORST = Severity


def finding(subject, severity=MILD):
    return Finding(Code.GROUP_AHEAD, severity, "It is ahead.", "", subject, "", None, {})


@pytest.fixture
def look():
    flow = make_flow()
    watch = FlowWatch.objects.create(flow=flow)

    def looked(found, minute):
        for second in (0, 30):
            now = NOW + timedelta(minutes=minute, seconds=second)
            save_look(flow, watch, found, frozenset(Code), now)
        return set(FlowFinding.objects.filter(closed_at=None).values_list("subject", flat=True))

    return looked


def test_an_open_finding_does_not_end_because_there_are_others(look):
    assert look([finding("z")], 0) == {"z"}
    many = [finding(f"a{number:04}") for number in range(MOST_OPEN + 10)]
    found = look([*many, finding("z")], 2)
    assert len(found) == MOST_OPEN
    assert "z" in found


def test_the_worst_come_before_what_is_open(look):
    look([finding(f"a{number:04}") for number in range(MOST_OPEN)], 0)
    many = [finding(f"a{number:04}") for number in range(MOST_OPEN)]
    assert "worst" in look([*many, finding("worst", WORST)], 2)


def test_a_long_subject_is_cut_and_stays_the_same_finding(look):
    (kept,) = look([finding("g" * 1_500)], 0)
    assert len(kept) == 600
    assert look([finding("g" * 1_500)], 2) == {kept}
    assert FlowFinding.objects.count() == 1


def test_texts_that_somebody_wrote_fit_a_row(look):
    long = "x\0" * 50_000
    values = {f"{name}{long}": long for name in range(300)} | {"records": 7}
    look([Finding(Code.TASK_FAILED, MILD, long, long, long, long, None, values)], 0)
    row = FlowFinding.objects.get()
    assert [len(one) for one in (row.sentence, row.todo, row.subject, row.topic)] == [
        1_000, 1_000, 600, 320,
    ]  # fmt: skip
    assert len(row.evidence) == 100
    assert "\0" not in str([row.sentence, row.subject, list(row.evidence.values())])
