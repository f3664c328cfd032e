"""A run becomes a document with its files, or says why not."""

import hashlib
import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pypdf import PdfReader

from console.accounts.models import ClusterGrant
from console.delivery.models import Delivery
from console.reports import queries
from console.reports.actions import remove_old_runs
from console.reports.kinds.registry import MAKERS
from console.reports.making import building, store
from console.reports.making.parts import read_mail
from console.reports.models import ReportRun, RunState, Trigger
from jobs.reports.document import Column, Document, Section, Table
from jobs.reports.kinds.kind import Content
from jobs.reports.rendering.formats import Format
from tests.console.making import make_flow, make_user
from tests.console.reports.making.worlds import NOW, make, queue_run, ready_run

pytestmark = pytest.mark.django_db
MAIL = {"channel": "email", "address": "ops@example.org"}


def document_of(run: ReportRun) -> Document:
    return Document.from_mapping(json.loads(store.read_file(run, Format.JSON)))


def test_all_formats_are_stored_with_their_digests(operator):
    make_flow("orders")
    run = ready_run(operator)
    assert set(run.files) == {"html", "pdf", "csv", "json"}
    for name, told in run.files.items():
        content = store.read_file(run, Format(name))
        assert hashlib.sha256(content).hexdigest() == told["sha256"]
        assert len(content) == told["bytes"]


def test_the_period_before_stands_beside_it(operator):
    make_flow("orders")
    document = document_of(ready_run(operator))
    assert document.before is not None
    assert document.before.end == document.period.start
    assert document_of(ready_run(operator, with_before=False)).before is None


def test_the_same_data_gives_the_same_bytes(operator):
    make_flow("orders")
    one, two = ready_run(operator), ready_run(operator)
    assert one.files == two.files


def test_it_shows_what_its_owner_may_see_at_that_time_and_no_more():
    owner = make_user("none")
    seen, _ = make_flow("seen"), make_flow("hidden", source="dark", target="west")
    for cluster in (seen.source, seen.target):
        ClusterGrant.objects.create(user=owner, cluster=cluster, role="operator")
    run = ready_run(owner)
    assert document_of(run).subjects == ("seen",)
    assert set(run.clusters.all()) == {seen.source, seen.target}


def test_a_subject_that_is_gone_is_told_as_missing(operator):
    flow = make_flow("orders")
    document = document_of(ready_run(operator, subjects=[flow.pk, flow.pk + 1]))
    assert "1 flow removed" in document.verdicts[0].sentence
    assert document.verdicts[0].word == "Incomplete"


def test_without_a_subject_left_it_fails_and_says_so(operator):
    run = make(queue_run(operator, subjects=[4711]))
    assert (run.state, run.files) == (RunState.FAILED, {})
    assert "There is no flow" in run.error


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "none"}], ids=str)
def test_an_owner_without_access_gets_no_report(operator, change):
    make_flow("orders")
    for name, value in change.items():
        setattr(operator, name, value)
    operator.save()
    run = make(queue_run(operator))
    assert run.state == RunState.FAILED
    assert "otto" in run.error


def test_a_report_for_admins_needs_the_role_at_the_time_of_the_run(admin, operator):
    assert ready_run(admin, kind="audit-trail", for_admins=True).state == RunState.READY
    run = make(queue_run(operator, kind="audit-trail", for_admins=True))
    assert "lack the role admin" in run.error or "no longer has the role admin" in run.error


def test_deliveries_are_written_with_the_files_and_not_for_a_preview(operator):
    make_flow("orders")
    run = ready_run(operator, recipients=[MAIL])
    ready_run(operator, recipients=[MAIL], trigger=Trigger.PREVIEW)
    assert [one.run for one in Delivery.objects.all()] == [run]


def test_a_run_is_claimed_once(operator):
    run = queue_run(operator)
    assert [building.claim(run.pk, NOW) for _ in range(2)] == [True, False]


def test_the_run_that_waits_longest_is_made_first(operator):
    ages = (2, 9, 5)
    runs = {age: queue_run(operator, created_at=NOW - timedelta(minutes=age)) for age in ages}
    assert building.next_runs() == [runs[age].pk for age in sorted(ages, reverse=True)]


def test_what_a_dead_program_left_is_made_again_and_given_up_after_three(operator):
    run = queue_run(operator)
    now = NOW
    for attempt in range(1, 4):
        assert building.claim(run.pk, now)
        building.give_up_lost(now + timedelta(minutes=1))
        run.refresh_from_db()
        assert (run.state, run.attempts) == (RunState.BUILDING, attempt)
        now += timedelta(minutes=20)
        building.give_up_lost(now)
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert "3 times" in run.error


def test_a_disk_without_room_leaves_a_failed_run_and_no_half_of_the_files(
    operator, settings, tmp_path
):
    make_flow("orders")
    settings.CROSSLOG_HOME = tmp_path
    # A file where the folder of reports would be: nothing can be written below it.
    Path(tmp_path / "reports").touch()
    run = make(queue_run(operator))
    assert run.state == RunState.FAILED
    assert "could not be stored" in run.error


def test_a_run_can_be_seen_by_people_who_see_all_its_clusters(operator):
    flow = make_flow("orders")
    run = ready_run(operator)
    half, whole = make_user("none"), make_user("none")
    ClusterGrant.objects.create(user=half, cluster=flow.source, role="viewer")
    for cluster in (flow.source, flow.target):
        ClusterGrant.objects.create(user=whole, cluster=cluster, role="viewer")
    found = {who: queries.get_run(run.pk, who) for who in (half, whole, operator)}
    assert found == {half: None, whole: run, operator: run}


def test_a_run_of_a_removed_cluster_is_only_for_a_role_everywhere(operator):
    flow = make_flow("orders")
    run = ready_run(operator)
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=flow.source, role="viewer")
    run.clusters.remove(flow.target)
    assert queries.get_run(run.pk, person) is None
    assert queries.where_run(run.pk) == ()


def test_old_runs_go_with_their_files(operator):
    make_flow("orders")
    old, kept = ready_run(operator, keep_days=1), ready_run(operator, keep_days=30)
    assert remove_old_runs(NOW + timedelta(days=2)) == 1
    assert list(ReportRun.objects.all()) == [kept]
    assert not store.folder_of(old).exists()
    assert store.folder_of(kept).exists()


def ragged(maker):
    """A maker whose table has a row with too few cells: neither page nor print can be made of it."""
    table = Table("t", "T", (Column("a", "A"), Column("b", "B")), (("only one",),))
    content = Content((Section("s", "S", None, None, (table,)),))
    return {"disaster-recovery": replace(maker, build=lambda recorded, before: content)}


def test_a_format_that_fails_leaves_the_others_and_the_run_says_so(operator):
    make_flow("orders")
    run = queue_run(operator, recipients=[MAIL])
    assert building.claim(run.pk, NOW)
    building.make(run.pk, NOW, ragged(MAKERS["disaster-recovery"]))
    run.refresh_from_db()
    assert (run.state, set(run.files)) == (RunState.READY, {"csv", "json"})
    assert "HTML could not be made" in run.error
    assert "PDF could not be made" in run.error
    assert run.deliveries.count() == 1
    assert "PDF could not be made" in read_mail(run).text
    assert "PDF could not be made" in read_mail(run).html


def test_the_last_attempt_has_the_plainest_print(operator):
    make_flow("orders")
    run = queue_run(operator, attempts=building.MOST_ATTEMPTS - 1)
    made = make(run)
    text = "".join(
        page.extract_text()
        for page in PdfReader(io.BytesIO(store.read_file(made, Format.PDF))).pages
    )
    assert "it ended the program that made it" in " ".join(text.split())


def test_a_program_that_lost_its_run_writes_no_end(operator):
    make_flow("orders")
    run = queue_run(operator, recipients=[MAIL])
    assert building.claim(run.pk, NOW)

    def give_up(*_):
        for _ in range(building.MOST_ATTEMPTS):
            building.give_up_lost(NOW + timedelta(days=1))
            building.claim(run.pk, NOW)
        return Content(())

    makers = {run.kind: replace(MAKERS[run.kind], build=give_up)}
    building.make(run.pk, NOW, makers)
    run.refresh_from_db()
    assert (run.state, run.deliveries.count()) == (RunState.FAILED, 0)


def test_a_flow_with_a_name_that_no_font_has_gets_its_report(operator):
    flow = make_flow("evil\u0350group\ufffe中")
    run = ready_run(operator)
    assert (set(run.files), run.error) == (set(Format), "")
    assert document_of(run).subjects == (flow.name,)
