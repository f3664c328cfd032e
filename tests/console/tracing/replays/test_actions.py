"""From a replay plan to a redrive that is applied, stopped and resumed."""

from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.runs import uploads
from console.runs.actions import finish_run, remove_old_runs
from console.runs.analyses.spec import tables_of
from console.runs.models import Run, RunState
from console.tracing.replays.actions import apply_redrive, create_redrive, stop_redrive
from console.tracing.replays.models import Redrive
from jobs.cluster.errors import InvalidFields
from tests.console.making import make_cluster
from tests.console.tracing.replays.making import FACTS, ROWS, make_plan, record

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR, settings.CROSSLOG_ARCHIVE = tmp_path / "runs", tmp_path / "archive"


@pytest.fixture
def east():
    return make_cluster("east")


@pytest.fixture
def redrive(east, operator):
    return create_redrive(east, make_plan(east), "friday", operator, timezone.now())


def apply(redrive, person=None, confirm="friday", per_s=100):
    return apply_redrive(redrive, confirm, per_s, person, timezone.now())


def end(redrive, state, ago=timedelta(0)):
    finished_at = timezone.now() - ago
    Run.objects.filter(pk=redrive.run_id).update(state=state, finished_at=finished_at)


def file_of(redrive):
    return uploads.find(f"{redrive.checksum}.parquet").path


def refusal(do):
    with pytest.raises(ActionRefused) as caught:
        do()
    return caught.value.code


def test_a_redrive_has_a_copy_of_its_plan(redrive):
    assert pq.read_table(file_of(redrive)).to_pylist() == ROWS
    assert redrive.plan["facts"] == FACTS
    assert redrive.plan["tiers"] == {"local": 1, "remote": 1}
    assert redrive.state == "NOT_APPLIED"


def test_a_plan_in_several_files_becomes_one(east):
    run = make_plan(east)
    part = tables_of(run) / "records" / "part-1.parquet"
    pq.write_table(pq.read_table(part.with_name("part-0.parquet")), part)
    redrive = create_redrive(east, run, "", None, timezone.now())
    assert pq.read_table(file_of(redrive)).num_rows == 2 * len(ROWS)


def test_without_a_name_a_redrive_has_that_of_the_topics_and_the_time(east):
    now = timezone.now()
    redrive = create_redrive(east, make_plan(east), " ", None, now)
    assert redrive.name == f"orders.DLT {now:%Y-%m-%d %H:%M:%S}"


def old(east):
    return make_plan(east, finished_at=timezone.now() - timedelta(hours=25))


def without_files(east):
    run = make_plan(east)
    (tables_of(run) / "records" / "part-0.parquet").unlink()
    (tables_of(run) / "records").rmdir()
    return run


def broken(east):
    run = make_plan(east)
    (tables_of(run) / "records" / "part-0.parquet").write_bytes(b"no Parquet")
    return run


REFUSED = {
    "plan_stale": old,
    "plan_is_empty": lambda east: make_plan(east, facts=FACTS | {"send": 0, "quarantine": 0}),
    "plan_gone": without_files,
    "plan_broken": broken,
    "not_ready": lambda east: make_plan(east, state="RUNNING"),
    "no_answer": lambda east: make_plan(east, state="FAILED"),
    "not_a_plan": lambda east: make_plan(make_cluster("west")),
}


@pytest.mark.parametrize("code", REFUSED)
def test_no_redrive_is_created_from_a_plan_that_is(code, east, settings):
    run = REFUSED[code](east)
    assert refusal(lambda: create_redrive(east, run, "", None, timezone.now())) == code
    assert not list((settings.CROSSLOG_ARCHIVE / "uploads").glob("*"))


@pytest.mark.parametrize(
    "name", ["friday", "x" * 101, "a\nb"], ids=["used", "too long", "not printable"]
)
def test_a_name_is_refused_at_its_field(name, redrive, east):
    with pytest.raises(InvalidFields) as caught:
        create_redrive(east, make_plan(east), name, None, timezone.now())
    assert set(caught.value.errors) == {"name"}
    assert Redrive.objects.count() == 1


def test_to_apply_a_redrive_starts_a_run_with_its_plan(redrive, operator):
    run = apply(redrive, operator, per_s=250)
    assert (run.kind, run.state, run.subject) == ("redrive", "QUEUED", redrive.plan_run.subject)
    assert run.requested_by == operator
    assert run.asked_with["role"] == "operator"
    assert run.arguments == {
        "cluster": "east", "plan": f"{redrive.checksum}.parquet", "plan_id": str(redrive.pk),
        "records_per_s": 250,
    }  # fmt: skip
    given = uploads.find(run.arguments["plan"])
    assert pq.read_table(given.path).to_pylist() == ROWS
    redrive.refresh_from_db()
    assert (redrive.run, redrive.applied_by, redrive.records_per_s) == (run, operator, 250)


@pytest.mark.parametrize(
    ("confirm", "per_s", "fields"),
    [("Friday", 1, {"confirm"}), ("friday", 0, {"records_per_s"}), ("friday", 100_001, {"records_per_s"})],
    ids=["another name", "no speed", "too fast"],
)  # fmt: skip
def test_a_redrive_is_not_applied_with(confirm, per_s, fields, redrive):
    with pytest.raises(InvalidFields) as caught:
        apply(redrive, confirm=confirm, per_s=per_s)
    assert set(caught.value.errors) == fields
    assert not Run.objects.filter(kind="redrive").exists()


def test_one_run_of_a_redrive_is_in_progress_at_a_time(redrive):
    apply(redrive)
    assert refusal(lambda: apply(redrive, per_s=7)) == "redrive_is_running"
    assert Run.objects.filter(kind="redrive").count() == 1


@pytest.mark.parametrize("state", ["STOPPED", "FAILED", "CRASHED"])
def test_a_redrive_is_resumed_with_the_same_plan_and_id_after_a_run_that_ended_as(state, redrive):
    first = apply(redrive)
    redrive.refresh_from_db()
    end(redrive, state)
    second = apply(redrive)
    assert second.pk != first.pk
    assert second.arguments == first.arguments
    assert AuditEntry.objects.get(action="redrive.resume").after["run"] == str(second.pk)


def test_a_redrive_that_succeeded_is_not_applied_again(redrive):
    apply(redrive)
    redrive.refresh_from_db()
    end(redrive, "SUCCEEDED")
    assert refusal(lambda: apply(redrive)) == "redrive_is_done"


@pytest.mark.parametrize("is_begun", [False, True], ids=["never applied", "to be resumed"])
def test_after_a_day_a_redrive_is_not_applied_because_its_positions_may_be_gone(redrive, is_begun):
    ago = timedelta(hours=25)
    if is_begun:
        apply(redrive)
        redrive.refresh_from_db()
        end(redrive, "STOPPED", ago)
    else:
        Redrive.objects.update(created_at=timezone.now() - ago)
    assert refusal(lambda: apply(redrive)) == "plan_stale"


def test_a_redrive_stops_with_one_request(redrive):
    run = apply(redrive)
    redrive.refresh_from_db()
    stop_redrive(redrive, timezone.now())
    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    redrive.refresh_from_db()
    assert refusal(lambda: stop_redrive(redrive, timezone.now())) == "redrive_is_not_running"


def test_what_was_done_is_in_the_audit_log(redrive, operator):
    apply(redrive, operator)
    redrive.refresh_from_db()
    stop_redrive(redrive, timezone.now())
    found = AuditEntry.objects.filter(action__startswith="redrive.").order_by("pk")
    assert [one.action for one in found] == ["redrive.create", "redrive.apply", "redrive.stop"]
    assert {(one.subject, one.cluster) for one in found} == {(f"redrive:{redrive.pk}", "east")}
    assert found[1].after["checksum"] == redrive.checksum


def test_a_plan_that_was_changed_is_not_applied(redrive):
    path = file_of(redrive)
    pq.write_table(pq.read_table(path).slice(0, 1), path)
    assert refusal(lambda: apply(redrive)) == "plan_changed"


def test_a_plan_whose_file_is_gone_is_not_applied(redrive):
    file_of(redrive).unlink()
    assert refusal(lambda: apply(redrive)) == "plan_gone"


@pytest.mark.parametrize("do", [create_redrive, apply_redrive, stop_redrive])
def test_while_crosslog_is_read_only_nothing_is_done(do, redrive, east, settings):
    settings.CROSSLOG_READ_ONLY = True
    now = timezone.now()
    given = {
        create_redrive: (east, redrive.plan_run, "", None, now),
        apply_redrive: (redrive, "friday", 100, None, now),
        stop_redrive: (redrive, now),
    }[do]
    assert refusal(lambda: do(*given)) == "read_only"


def test_a_redrive_outlives_the_run_of_its_plan(redrive):
    Run.objects.filter(kind="replay-plan").delete()
    redrive.refresh_from_db()
    assert redrive.plan_run is None
    assert apply(redrive).arguments["plan_id"] == str(redrive.pk)


def test_a_redrive_is_removed_with_its_last_run(redrive):
    run = apply(redrive)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    finish_run(run.pk, RunState.SUCCEEDED, timezone.now() - timedelta(days=400))
    remove_old_runs(timezone.now())
    assert not Redrive.objects.exists()


def test_a_redrive_is_removed_with_the_cluster(redrive, east):
    east.delete()
    assert not Redrive.objects.exists()


def test_tiers_count_what_is_not_skipped(east):
    rows = [record(1), record(2, tier="unknown"), record(3, "skip"), record(4, tier="unknown")]
    redrive = create_redrive(east, make_plan(east, rows), "", None, timezone.now())
    assert redrive.plan["tiers"] == {"local": 1, "unknown": 2}
