from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.metrics.samples import engine_samples
from console.runs.engines.actions import roll_engine
from console.runs.engines.models import Engine, EngineState
from console.runs.engines.watch import remove_old_engines, watch_engines
from jobs.spark import contract
from jobs.spark.contract import JobResult, JobSpec, Outcome
from tests.console.making import NOW, count_queries, make_flow, make_run
from tests.console.runs.engine_rows import make_engine, report

pytestmark = pytest.mark.django_db
NAME = "flows-0a1b2c3d4e5f"
LATER, MUCH_LATER = NOW + timedelta(minutes=5), NOW + timedelta(days=15)


class PaperEngines:
    """Engines that exist only on paper; the folders are real."""

    def __init__(self, runs_dir):
        self.runs_dir = runs_dir
        self.alive, self.rolled = set(), []
        self.problem = None

    def start(self, name=NAME, **told):
        folder = self.runs_dir / name
        folder.mkdir()
        contract.write_spec(folder, JobSpec(name, "flows", {"release": "0.6.0"}))
        self.alive.add(folder)
        return self.tell(name, **told)

    def tell(self, name=NAME, **told):
        folder = self.runs_dir / name
        contract.write_json(folder / contract.PROGRESS, report(**told))
        return folder

    def end(self, folder, result=None):
        self.alive.discard(folder)
        (folder / contract.LOG).write_text("spark is up\nspark is over\n")
        if result:
            contract.write_result(folder, result)

    def is_alive(self, run_dir):
        return run_dir in self.alive

    def read_progress(self, run_dir):
        return contract.read_json(run_dir / contract.PROGRESS)

    def read_log_tail(self, run_dir, most_bytes=0):
        return (run_dir / contract.LOG).read_text()[-most_bytes:]

    def roll(self, runs_dir, engine):
        if self.problem:
            raise self.problem
        self.rolled.append((runs_dir, engine))


@pytest.fixture
def engines(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    return PaperEngines(tmp_path)


def test_an_engine_of_this_host_gets_a_row_with_what_it_reports(engines):
    folder = engines.start()
    watch_engines(NOW, engines)
    row = Engine.objects.get()
    assert (row.name, row.kind, row.state, row.release) == (NAME, "flows", "RUNNING", "0.6.0")
    assert (row.folder, row.flow_count, row.slot_count) == (str(folder), 2, 2)
    engines.tell(flows=[])
    watch_engines(LATER, engines)
    row.refresh_from_db()
    assert (row.flow_count, row.seen_at) == (0, LATER)


def test_an_engine_is_starting_until_it_reports(engines):
    (engines.start() / contract.PROGRESS).unlink()
    watch_engines(NOW, engines)
    assert Engine.objects.get().state == EngineState.STARTING


def test_an_engine_of_analyses_is_running_without_a_report(engines):
    (engines.start("engine-0a1b") / contract.PROGRESS).unlink()
    watch_engines(NOW, engines)
    row = Engine.objects.get()
    assert (row.kind, row.state, row.flow_count) == ("engine", "RUNNING", None)


@pytest.mark.parametrize(
    ("result", "state", "problem"),
    [
        (JobResult(Outcome.SUCCEEDED), "STOPPED", ""),
        (JobResult(Outcome.STOPPED, "asked"), "STOPPED", "asked"),
        (JobResult(Outcome.CRASHED, "no Spark"), "CRASHED", "no Spark"),
        (None, "CRASHED", "Its keeper process is gone and left no result."),
    ],
    ids=["idle", "stopped", "crashed", "killed"],
)
def test_the_end_of_an_engine_is_kept_with_its_log(engines, result, state, problem):
    folder = engines.start()
    watch_engines(NOW, engines)
    engines.end(folder, result)
    watch_engines(LATER, engines)
    row = Engine.objects.get()
    assert (row.state, row.problem, row.ended_at) == (state, problem, LATER)
    assert row.log == "spark is up\nspark is over\n"


def test_engines_of_a_host_that_does_not_report_are_given_up_until_it_reports_again(engines):
    engines.start()
    watch_engines(NOW, engines)
    make_engine("flows-ff", host="elsewhere", seen_at=NOW)
    watch_engines(LATER, engines)
    states = dict(Engine.objects.values_list("name", "state"))
    assert states == {NAME: "RUNNING", "flows-ff": "CRASHED"}
    Engine.objects.filter(pk=NAME).update(ended_at=NOW, state="CRASHED", problem="It is lost.")
    watch_engines(LATER, engines)
    row = Engine.objects.get(pk=NAME)
    assert (row.state, row.ended_at, row.problem) == ("RUNNING", None, "")


def test_rows_of_ended_engines_are_kept_for_two_weeks_and_do_not_return(engines):
    engines.end(engines.start(), JobResult(Outcome.SUCCEEDED))
    watch_engines(NOW, engines)
    Engine.objects.update(ended_at=NOW)
    assert (remove_old_engines(LATER), remove_old_engines(MUCH_LATER)) == (0, 1)
    watch_engines(MUCH_LATER + timedelta(days=36_500), engines)
    assert not Engine.objects.exists()


def test_a_requested_roll_is_done_once_and_ends_with_the_successor(engines):
    folder = engines.start()
    watch_engines(NOW, engines)
    roll_engine(NAME, NOW)
    watch_engines(NOW, engines)
    watch_engines(NOW, engines)
    assert engines.rolled == [(folder.parent, folder)]
    assert Engine.objects.get().state == EngineState.ROLLING
    engines.tell(successor="flows-ff")
    watch_engines(LATER, engines)
    assert Engine.objects.get().state == EngineState.ROLLING


def test_a_roll_whose_worker_died_can_be_requested_again(engines):
    engines.start()
    watch_engines(NOW, engines)
    roll_engine(NAME, NOW)
    watch_engines(NOW, engines)
    watch_engines(LATER, engines)
    row = Engine.objects.get()
    assert (row.state, row.may_roll) == (EngineState.RUNNING, True)


def test_a_roll_that_fails_leaves_the_engine_running_and_says_why(engines):
    engines.start()
    watch_engines(NOW, engines)
    roll_engine(NAME, NOW)
    engines.problem = OSError("no space left")
    watch_engines(NOW, engines)
    row = Engine.objects.get()
    assert (row.state, row.may_roll) == (EngineState.RUNNING, True)
    assert row.problem == "The engine could not be rolled: no space left"


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "engine"},
        {"ended_at": NOW},
        {"roll_requested_at": NOW},
        {"state": "ROLLING"},
    ],
    ids=["of analyses", "ended", "requested already", "rolling"],
)
def test_an_engine_that_cannot_be_rolled_is_refused(fields):
    engine = make_engine(NAME, **fields)
    with pytest.raises(ActionRefused, match="Only a running engine of flows"):
        roll_engine(NAME, NOW)
    assert not engine.may_roll


def test_the_command_rolls_one_engine_or_all_of_flows(capsys):
    for name, fields in (("flows-a", {}), ("flows-b", {}), ("engine-c", {"kind": "engine"})):
        make_engine(name, **fields)
    call_command("roll_engine", "flows-b")
    call_command("roll_engine")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["flows-b: rolling restart requested", "flows-a: rolling restart requested"]
    with pytest.raises(CommandError, match="engine-c: Only a running engine of flows"):
        call_command("roll_engine", "engine-c")


def test_the_list_shows_engines_with_the_same_queries_for_one_and_many(sign_in, viewer):
    client, path = sign_in(viewer), reverse("runs:engines")
    assert "No engines yet" in client.get(path).content.decode()
    make_engine()
    one = count_queries(client, path)
    make_engine("flows-b")
    assert count_queries(client, path) == one
    assert "flows-b" in client.get(path).content.decode()


def test_the_page_shows_slots_and_flows_with_links(sign_in, viewer, engines):
    flow = make_flow()
    run = make_run(flow)
    engines.start()
    told = report(run_id=str(run.pk), successor="flows-next")
    make_engine(NAME, progress=told, state="ROLLING", folder=str(engines.runs_dir / NAME))
    text = sign_in(viewer).get(reverse("runs:engine", args=[NAME])).content.decode()
    for shown in ("Slot 1 was killed.", "orders to west", "425\N{NO-BREAK SPACE}%", "flows-next"):
        assert shown in text
    assert reverse("replication:detail", args=[flow.pk]) in text
    assert reverse("runs:detail", args=[run.pk]) in text
    assert "Roll…" not in text


def test_the_log_of_an_ended_engine_is_shown_on_every_host_that_of_a_live_one_on_its_own(
    sign_in, viewer
):
    client = sign_in(viewer)
    make_engine(NAME, host="elsewhere")
    text = client.get(reverse("runs:engine", args=[NAME])).content.decode()
    assert "The log is on host elsewhere" in text
    Engine.objects.update(ended_at=NOW, log="spark is over")
    assert "spark is over" in client.get(reverse("runs:engine", args=[NAME])).content.decode()


def test_an_operator_rolls_an_engine_on_its_page(sign_in, operator):
    make_engine(NAME)
    client = sign_in(operator)
    assert "Roll…" in client.get(reverse("runs:engine", args=[NAME])).content.decode()
    for expected in ("Rolling restart requested", "Only a running engine of flows"):
        answer = client.post(reverse("runs:roll-engine", args=[NAME]), follow=True)
        assert expected in answer.content.decode()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject, entry.actor) == ("engine.roll", f"engine:{NAME}", operator)


def test_the_api_lists_engines_shows_one_and_rolls_it(sign_in, operator):
    make_engine(NAME), make_engine("engine-b", kind="engine")
    client = sign_in(operator)
    (row,) = client.get("/api/v1/engines/?kind=flows").json()["results"]
    assert (row["name"], row["flow_count"], "progress" in row) == (NAME, 2, False)
    one = client.get(f"/api/v1/engines/{NAME}/").json()
    assert (one["progress"], one["log"]) == (report(), "")
    rolled = client.post(f"/api/v1/engines/{NAME}/roll/")
    assert (rolled.status_code, rolled.json()["roll_requested_at"] is None) == (200, False)
    again = client.post(f"/api/v1/engines/{NAME}/roll/")
    assert (again.status_code, again.json()["code"]) == (409, "not_rollable")


def test_metrics_are_those_of_live_engines_of_flows():
    make_engine(NAME, host="worker-1"), make_engine("flows-old", ended_at=NOW)
    make_engine("flows-new", progress=None), make_engine("engine-c", kind="engine")
    found = {(of.name, labels): value for of, labels, value in engine_samples(lambda rows: rows)}
    names = ("worker-1", NAME)
    assert found == {
        ("crosslog_engine_flows", names): 2,
        ("crosslog_engine_slots", (*names, "running")): 1,
        ("crosslog_engine_slots", (*names, "starting")): 0,
        ("crosslog_engine_slots", (*names, "lost")): 1,
        ("crosslog_engine_cpu_cores", names): 4.25,
        ("crosslog_engine_rss_bytes", names): 900 << 20,
        ("crosslog_engine_in_flight_bytes", names): 5 << 20,
        ("crosslog_engine_slot_restarts_total", names): 3,
    }
