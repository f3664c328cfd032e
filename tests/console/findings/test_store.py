"""Which findings are kept as rows, and how they open and end."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.findings import store
from console.findings.models import Finding as Row
from console.replication.flows.models import ReplicationFlow
from jobs.findings import Finding
from jobs.quorum.health.codes import LIFE as OF_QUORUMS
from jobs.replication.findings.codes import LIFE, Code
from jobs.severity import Severity
from tests.console.making import NOW, make_cluster, make_flow
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
MILD, *_, WORST = Severity
HOUR = timedelta(hours=1)


def finding(subject, severity=MILD):
    return Finding(Code.GROUP_AHEAD, severity, "It is ahead.", "", subject, "", None, {})


@pytest.fixture
def look():
    flow = make_flow()
    pending = {}

    def looked(found, minute):
        nonlocal pending
        for second in (0, 30):
            now = NOW + timedelta(minutes=minute, seconds=second)
            pending = store.save(flow, LIFE, found, now, frozenset(Code), pending)
        return set(Row.objects.filter(closed_at=None).values_list("subject", flat=True))

    return looked


def test_an_open_finding_does_not_end_because_there_are_others(look):
    assert look([finding("z")], 0) == {"z"}
    many = [finding(f"a{number:04}") for number in range(LIFE.most_open + 10)]
    found = look([*many, finding("z")], 2)
    assert len(found) == LIFE.most_open
    assert "z" in found


def test_the_worst_come_before_what_is_open(look):
    look([finding(f"a{number:04}") for number in range(LIFE.most_open)], 0)
    many = [finding(f"a{number:04}") for number in range(LIFE.most_open)]
    assert "worst" in look([*many, finding("worst", WORST)], 2)


def test_a_long_subject_is_cut_and_stays_the_same_finding(look):
    (kept,) = look([finding("g" * 1_500)], 0)
    assert len(kept) == 600
    assert look([finding("g" * 1_500)], 2) == {kept}
    assert Row.objects.count() == 1


def test_texts_of_clients_fit_a_row(look):
    long = "x\0\ud800" * 50_000
    values = {f"{name}{long}": long for name in range(300)} | {"records": 7}
    look([Finding(Code.TASK_FAILED, MILD, long, long, long, long, None, values)], 0)
    row = Row.objects.get()
    assert [len(one) for one in (row.sentence, row.todo, row.subject, row.topic)] == [
        1_000, 1_000, 600, 320,
    ]  # fmt: skip
    assert len(row.evidence) == 100
    assert "\0" not in str([row.sentence, row.subject, list(row.evidence.values())])


class JudgedByAnotherWriter:
    """Codes that are looked up after open rows were read: another writer opens the finding then."""

    def __init__(self, flow):
        self.flow = flow

    def __contains__(self, code):
        store.save(self.flow, LIFE, [finding("a", WORST)], NOW, (), {finding("a").key: NOW})
        return True


def test_a_finding_that_another_writer_just_opened_is_not_opened_twice():
    flow = make_flow()
    pending = {finding(subject).key: NOW for subject in "ab"}
    store.save(flow, LIFE, [finding("a")], NOW, JudgedByAnotherWriter(flow), pending)
    (row,) = Row.objects.all()
    assert row.severity == WORST


def test_a_finding_belongs_to_what_it_was_saved_for():
    flow = make_flow()
    log = make_log(flow.source)
    for scope in (flow.source, flow, log):
        store.save(scope, OF_QUORUMS, [finding("a")], NOW)
    found = set(Row.objects.values_list("cluster", "flow", "log"))
    assert found == {
        (flow.source_id, None, None), (None, flow.pk, None), (None, None, log.pk)
    }  # fmt: skip


def test_findings_of_another_kind_are_left_alone(look):
    look([finding("a")], 0)
    flow = ReplicationFlow.objects.get()
    store.save(flow, OF_QUORUMS, [], NOW + HOUR)
    assert Row.objects.get().closed_at is None


def storm(since, ended):
    return Finding("storm", Severity.WARNING, "Elections.", since=since, ended=ended)


def test_what_was_over_before_it_was_seen_is_kept_once():
    log = make_log(make_cluster())
    for _ in range(2):
        store.save(log, OF_QUORUMS, [storm(NOW - 2 * HOUR, NOW - HOUR)], NOW)
    (row,) = Row.objects.all()
    assert (row.opened_at, row.closed_at) == (NOW - 2 * HOUR, NOW - HOUR)


def test_an_open_finding_ends_when_it_says_so():
    log = make_log(make_cluster())
    store.save(log, OF_QUORUMS, [storm(NOW - 2 * HOUR, None)], NOW)
    store.save(log, OF_QUORUMS, [storm(NOW - 2 * HOUR, NOW - HOUR)], NOW)
    assert Row.objects.get().closed_at == NOW - HOUR


def test_findings_that_did_not_change_are_confirmed_by_one_statement():
    flow = make_flow()
    found = [finding(f"a{number}") for number in range(50)]
    pending = {one.key: NOW for one in found}
    store.save(flow, LIFE, found, NOW, frozenset(Code), pending)
    with CaptureQueriesContext(connection) as captured:
        store.save(flow, LIFE, found, NOW + HOUR, frozenset(Code), pending)
    written = [one["sql"] for one in captured if "INSERT" in one["sql"] or "UPDATE" in one["sql"]]
    assert len(written) == 1
    assert set(Row.objects.values_list("last_seen_at", flat=True)) == {NOW + HOUR}


def test_only_what_was_seen_is_confirmed_and_only_what_changed_is_written():
    flow = make_flow()
    store.save(flow, LIFE, [finding("a"), finding("b"), finding("c")], NOW, (), {
        finding(subject).key: NOW for subject in "abc"
    })  # fmt: skip
    later = NOW + timedelta(minutes=1)
    store.save(flow, LIFE, [finding("a", WORST), finding("b")], later, frozenset(Code), {})
    found = set(Row.objects.values_list("subject", "severity", "last_seen_at"))
    assert found == {("a", WORST, later), ("b", MILD, later), ("c", MILD, NOW)}
