"""Handing flows over to engines of flows: which one fits, how many it has, and what follows it."""

import os
import time
from pathlib import Path

import pytest

from jobs.spark import contract, settings, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import door, folder
from tests.waiting import eventually


def spec(name: str, *, spark: dict[str, str] | None = None, **flow: object) -> JobSpec:
    values = {"flow": {"name": name, "tasks": 1, **flow}}
    return JobSpec(name, settings.FLOW, values, lease_s=600.0, spark=spark or {})


def engines(runs) -> list[Path]:
    return folder.list_engines(runs, settings.FLOWS)


def test_flows_are_handed_over_to_one_engine(runs):
    pids = {door.start_run(spec(name), runs / name) for name in ("first", "second")}
    [engine] = engines(runs)
    assert pids == {contract.read_json(engine / contract.KEEPER)["pid"]}
    assert [run_dir for _, run_dir in folder.waiting(engine)] == [runs / "first", runs / "second"]
    assert folder.engine_of(runs / "first") == engine
    assert door.is_alive(runs / "second")
    made = contract.read_spec(engine)
    assert (made.spark["master"], made.arguments["tasks"]) == ("local[64]", settings.engine_slots())


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"engine": "own"}, id="the flow says so"),
        pytest.param({"spark": {"master": "local[2]"}}, id="it has settings of Spark"),
    ],
)
def test_a_flow_may_have_an_application_of_its_own(runs, own):
    door.start_run(spec("own", **own), runs / "own")
    assert engines(runs) == []
    assert door.is_alive(runs / "own")
    door.kill_run(runs / "own")
    eventually(lambda: not door.is_alive(runs / "own"))


def test_an_engine_that_is_full_is_followed_by_another(runs, monkeypatch):
    monkeypatch.setenv("CROSSLOG_ENGINE_FLOWS", "2")
    for name in ("a", "b"):
        door.start_run(spec(name), runs / name)
    [first] = engines(runs)
    taken = folder.take(folder.waiting(first)[0][0])
    door.start_run(spec("c"), runs / "c")
    assert len(engines(runs)) == 2
    taken.unlink()
    door.start_run(spec("d"), runs / "d")
    door.start_run(spec("e"), runs / "e")
    assert [folder.count(one) for one in engines(runs)] == [2, 2]


@pytest.mark.parametrize(
    ("at_its_start", "later", "count"),
    [
        pytest.param("one", "one", 1, id="the same"),
        pytest.param("one", "another", 2, id="changed"),
        pytest.param(None, "new", 2, id="missing there"),
        pytest.param("one", None, 1, id="missing here"),
    ],
)
def test_an_engine_fits_that_has_the_secrets_of_a_flow(
    runs, monkeypatch, at_its_start, later, count
):
    for value, name in ((at_its_start, "first"), (later, "second")):
        monkeypatch.delenv("CROSSLOG_SECRET_EAST", raising=False)
        if value is not None:
            monkeypatch.setenv("CROSSLOG_SECRET_EAST", value)
        source = {"sasl_password": "env:CROSSLOG_SECRET_EAST"} if name == "second" else {}
        door.start_run(spec(name, source=source), runs / name)
    assert len(engines(runs)) == count


def test_a_roll_starts_one_successor_with_the_secrets_of_both(runs, monkeypatch):
    for name in ("OLD", "BOTH"):
        monkeypatch.setenv(f"CROSSLOG_SECRET_{name}", "before")
    door.start_run(spec("flow"), runs / "flow")
    [old] = engines(runs)
    monkeypatch.delenv("CROSSLOG_SECRET_OLD")
    monkeypatch.setenv("CROSSLOG_SECRET_BOTH", "after")
    new = door.roll(runs, old)
    assert door.roll(runs, old) == new != old
    pid = contract.read_json(new / contract.KEEPER)["pid"]
    secrets = {"CROSSLOG_SECRET_OLD=before", "CROSSLOG_SECRET_BOTH=after"}
    environ = Path(f"/proc/{pid}/environ")
    eventually(lambda: secrets <= set(environ.read_text().split("\0")))
    door.start_run(spec("next"), runs / "next")
    assert folder.engine_of(runs / "next") == new
    assert (folder.count(old), folder.count(new)) == (1, 2)
    assert folder.engine_of(runs / "flow") == old


def test_only_an_engine_of_flows_that_runs_is_rolled(runs):
    analyses = door.start_engine(runs)
    with pytest.raises(RuntimeError, match="no engine of flows"):
        door.roll(runs, analyses)
    door.start_run(spec("flow"), runs / "flow")
    [engine] = engines(runs)
    submit.kill_run(engine)
    eventually(lambda: not submit.is_alive(engine))
    with pytest.raises(RuntimeError, match="no engine of flows"):
        door.roll(runs, engine)


@pytest.mark.parametrize(
    ("release", "age_s", "rolls"),
    [
        pytest.param("0.5.0", 86_400, True, id="before this one"),
        pytest.param("9.0.0", -60, False, id="started by a newer process"),
        pytest.param(None, 86_400, False, id="of this release"),
    ],
)
def test_keeping_rolls_engines_of_a_release_before(runs, release, age_s, rolls):
    door.start_run(spec("flow"), runs / "flow")
    [engine] = engines(runs)
    if release is not None:
        made = contract.read_spec(engine)
        values = {**made.arguments, "release": release}
        contract.write_spec(engine, JobSpec(made.run_id, made.kind, values, 600.0, made.spark))
    began = time.time() - age_s
    os.utime(engine / contract.SPEC, (began, began))
    door.keep(runs)
    door.keep(runs)
    assert len(engines(runs)) == (2 if rolls else 1)


def test_killing_a_flow_whose_engine_answers_ends_that_flow_only(runs):
    for name in ("first", "second"):
        door.start_run(spec(name), runs / name)
    [engine] = engines(runs)
    contract.write_progress(engine, {"at_ms": 0})
    door.kill_run(runs / "first")
    assert (runs / "first" / folder.DROP).exists()
    assert (runs / "first" / contract.STOP).exists()
    assert submit.is_alive(engine)
    contract.write_result(runs / "first", JobResult(Outcome.STOPPED))
    assert (door.is_alive(runs / "first"), door.is_alive(runs / "second")) == (False, True)


def test_killing_a_flow_whose_engine_does_not_answer_ends_the_engine(runs):
    door.start_run(spec("flow"), runs / "flow")
    [engine] = engines(runs)
    contract.write_progress(engine, {"at_ms": 0})
    silent = time.time() - door.ANSWERS_S - 1
    os.utime(engine / contract.PROGRESS, (silent, silent))
    door.kill_run(runs / "flow")
    eventually(lambda: not door.is_alive(runs / "flow"))
    assert not submit.is_alive(engine)
