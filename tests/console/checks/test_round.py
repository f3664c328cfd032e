"""The round of all checks: findings of each area, and what a broken area costs."""

from datetime import UTC, datetime, timedelta

import pytest

from console.checks.areas.area import Area, Judged
from console.checks.models import CheckRound
from console.checks.round import due_checks, run_checks
from console.findings.models import Finding
from jobs.findings import Finding as Found
from jobs.severity import Severity
from tests.console.making import make_cluster

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def area(name="probe", *found, scope=None, codes=("one",)):
    return Area(name, lambda given: [Judged(scope, codes, found)])


def broken(given):
    raise RuntimeError("a rule broke")


def check_at(seconds, *areas):
    now = NOW + timedelta(seconds=seconds)
    (pk,) = due_checks(now)
    assert run_checks(pk, lambda: now, areas)


def test_findings_of_a_cluster_and_of_crosslog_open_and_end():
    cluster = make_cluster()
    one = Found("one", Severity.CRITICAL, "One is wrong.")
    check_at(0, area("a", one, scope=cluster), area("b", one))
    assert Finding.objects.filter(closed_at=None).count() == 2
    assert {row.place for row in Finding.objects.all()} == {"Cluster east", "crosslog"}
    check_at(10, area("a", scope=cluster), area("b", one))
    assert [row.place for row in Finding.objects.filter(closed_at=None)] == ["crosslog"]


def test_a_broken_area_is_named_and_the_others_are_checked():
    check_at(0, Area("bad", broken), area("b", Found("one", Severity.WARNING, "One.")))
    assert Finding.objects.count() == 1
    assert CheckRound.objects.get().error == "Not checked, see the log of the worker: bad."


def test_what_was_not_judged_stays_open():
    check_at(0, area("a", Found("one", Severity.WARNING, "One.")))
    check_at(10, area("a", codes=()))
    assert Finding.objects.filter(closed_at=None).count() == 1
