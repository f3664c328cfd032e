"""The driver of an engine of flows, without Spark: which flows it hosts, and how each of them ends."""

import logging
import os
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobs.spark import contract, processes
from jobs.spark.channel.line import ChannelAddress, DriverChannel
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import folder
from jobs.spark.slots.driver import FlowsEngine
from jobs.spark.slots.hosted_flow import Hosting
from tests.waiting import eventually

MOVED = {"surveyed": True, "partitions": [{"records": 7}]}


class FakeJob:
    problem = slot = None

    def __init__(self) -> None:
        self.is_cancelled = False

    def is_running(self) -> bool:
        return not self.is_cancelled

    def cancel(self) -> None:
        self.is_cancelled = True


class FakePool:
    """Slots that copy nothing."""

    restarts = 0
    in_flight_bytes = 0

    def __init__(self) -> None:
        self.suspects: list[str] = []
        self.jobs: list[FakeJob] = []

    def step(self) -> None: ...

    def rows(self):
        return [{"slot": 0, "state": "running"}]

    def take_suspects(self) -> list[str]:
        found, self.suspects = self.suspects, []
        return found

    def begin(self, _flow: str, _task: int, _address: ChannelAddress) -> FakeJob:
        self.jobs.append(FakeJob())
        return self.jobs[-1]

    def usage(self, _flow: str):
        return {"slots": [0], "cpu_percent": 1.0, "memory_bytes": 2}


class FakeState:
    known: str | None = None
    looks = 0

    def why_over(self) -> str | None:
        self.looks += 1
        return self.known

    def is_over(self) -> bool:
        return self.known is not None


class Resumed:
    def __init__(self) -> None:
        self.progress = None

    def resume(self, progress) -> None:
        self.progress = progress


class FakeDriver:
    """Copies until a stop; its flow may say that it breaks, or does not hear."""

    def __init__(self, spec, run_dir, host) -> None:
        self.stopping = threading.Event()
        self.state = Resumed()
        self.host = host
        self._run_dir = run_dir
        self._does = spec.arguments["flow"].get("does")
        channel = host.open_channel(lambda _event: None)
        host.start_job(channel, 0)

    def drive(self) -> JobResult:
        logging.getLogger("a test").info("copies")
        if self._does == "breaks":
            raise RuntimeError("a copier has a fault")
        if self._does == "ends":
            return JobResult(Outcome.SUCCEEDED)
        while self.host.why_over() is None:
            is_asked = self.stopping.is_set() or (self._run_dir / contract.STOP).exists()
            if is_asked and self._does != "does not hear":
                return JobResult(Outcome.STOPPED, None, {"records": 3})
            self.stopping.wait(0.01)
            threading.Event().wait(0.01)
        return JobResult(Outcome.FAILED, self.host.why_over())


class Place:
    """A folder of runs with one engine, whose loop runs in a thread."""

    def __init__(self, runs: Path, idle_s: float = 600.0) -> None:
        self.runs = runs
        self.engine = self.new_engine("flows-a")
        self.pool, self.state = FakePool(), FakeState()
        self.drivers: dict[str, FakeDriver] = {}
        self.settled = threading.Event()
        self.result: JobResult | None = None
        hosting = Hosting(self.engine, self.pool, self.state, self._channel, self._driver)
        spec = JobSpec("flows-a", "flows", {"tasks": 1, "idle_s": idle_s, "release": "1"})
        engine = FlowsEngine(spec, hosting, self.settled.set, lambda: False)
        self.thread = threading.Thread(target=self._serve, args=(engine,), daemon=True)

    def new_engine(self, name: str) -> Path:
        """Make the folder of an engine that lives: this process is its supervisor."""
        made = self.runs / name
        made.mkdir(parents=True)
        keeper = {"pid": os.getpid(), "start_ticks": processes.start_ticks(os.getpid())}
        contract.write_json(made / contract.KEEPER, keeper)
        contract.write_spec(made, JobSpec(name, "flows", {}))
        return made

    def _channel(self, on_event) -> DriverChannel:
        return DriverChannel("127.0.0.1", on_event)

    def _driver(self, spec, run_dir, host) -> FakeDriver:
        self.drivers[spec.run_id] = FakeDriver(spec, run_dir, host)
        return self.drivers[spec.run_id]

    def _serve(self, engine: FlowsEngine) -> None:
        self.result = engine.serve()

    def add(self, run_id: str, flow=None, lease_s: float = 600.0, before=None, **does) -> Path:
        run_dir = self.runs / run_id
        run_dir.mkdir()
        values = {"flow": {"name": flow or run_id, **does}}
        contract.write_spec(run_dir, JobSpec(run_id, "replicate", values, lease_s))
        (run_dir / contract.LEASE).touch()
        if before is not None:
            contract.write_progress(run_dir, before)
        with folder.locked(self.runs):
            folder.hand_over(self.engine, run_dir)
        return run_dir

    @property
    def looks(self) -> int:
        """How often the engine has looked at itself."""
        return self.state.looks

    def hosts(self) -> dict[str, str]:
        told = contract.read_json(self.engine / contract.PROGRESS) or {"flows": []}
        return {row["flow"]: row["state"] for row in told["flows"]}


@contextmanager
def serving(runs: Path, idle_s: float = 600.0):
    place = Place(runs, idle_s)
    place.thread.start()
    try:
        yield place
    finally:
        (place.engine / contract.STOP).touch()
        place.thread.join(60)
        assert not place.thread.is_alive()


@pytest.fixture
def place(tmp_path):
    with serving(tmp_path / "runs") as place:
        yield place


def outcome(run_dir: Path) -> Outcome | None:
    found = contract.read_result(run_dir)
    return found.outcome if found else None


def ended(run_dir: Path) -> JobResult:
    eventually(lambda: outcome(run_dir) is not None)
    result = contract.read_result(run_dir)
    assert result is not None
    return result


def test_all_that_waits_is_hosted_at_once_and_shown(place):
    for name in ("a", "b", "c"):
        place.add(name)
    eventually(lambda: place.hosts() == dict.fromkeys("abc", "running"))
    assert folder.waiting(place.engine) == []
    assert folder.count(place.engine) == 3


def test_a_flow_that_breaks_ends_alone(place):
    broken, other = place.add("broken", does="breaks"), place.add("other")
    assert ended(broken).outcome is Outcome.CRASHED
    assert "a copier has a fault" in (ended(broken).error or "")
    eventually(lambda: place.hosts() == {"other": "running"})
    assert outcome(other) is None


@pytest.mark.parametrize("lease_s", [600.0, 0.0])
def test_a_run_that_is_stopped_or_not_wanted_ends(place, lease_s):
    run_dir = place.add("a", lease_s=lease_s)
    if lease_s:
        eventually(lambda: "a" in place.drivers)
        (run_dir / contract.STOP).touch()
    assert ended(run_dir).outcome is Outcome.STOPPED
    eventually(lambda: folder.count(place.engine) == 0)


def test_the_log_of_a_run_has_the_lines_of_its_flow_only(place):
    logging.getLogger().setLevel(logging.INFO)
    first, second = place.add("a"), place.add("b")
    eventually(lambda: set(place.hosts()) == {"a", "b"})
    for name in ("a: heartbeats", "aa: heartbeats"):
        words = f"heartbeats of {name}"
        told = threading.Thread(target=logging.getLogger("a test").info, args=(words,), name=name)
        told.start()
        told.join()

    def count(words):
        return [(one / contract.LOG).read_text().count(words) for one in (first, second)]

    eventually(lambda: count("copies") == [1, 1])
    assert count("heartbeats of") == [1, 0]


def test_a_second_run_of_a_flow_waits_for_the_end_of_the_first(place):
    first = place.add("first", "same")
    eventually(lambda: "first" in place.drivers)
    second = place.add("second", "same")
    eventually((second / contract.PROGRESS).exists)
    assert "another run of this flow" in contract.read_json(second / contract.PROGRESS)["message"]
    assert "second" not in place.drivers
    (first / contract.STOP).touch()
    eventually(lambda: "second" in place.drivers)


def test_a_flow_that_does_not_hear_is_dropped_with_its_copies(place):
    run_dir, other = place.add("deaf", does="does not hear"), place.add("other")
    eventually(lambda: place.hosts() == {"deaf": "running", "other": "running"})
    (run_dir / contract.STOP).write_text("A person wants it.")
    (run_dir / folder.DROP).touch()
    result = ended(run_dir)
    assert (result.outcome, result.error) == (Outcome.STOPPED, "A person wants it.")
    assert [job.is_cancelled for job in place.pool.jobs].count(True) == 1
    assert outcome(other) is None


def test_a_suspect_is_set_apart(place):
    suspect, other = place.add("suspect"), place.add("other")
    eventually(lambda: len(place.hosts()) == 2)
    place.pool.suspects = ["suspect", "unknown"]
    result = ended(suspect)
    assert result.outcome is Outcome.CRASHED
    assert result.summary == {"records": 3, "set_apart": True}
    assert outcome(other) is None


def test_flows_are_handed_over_one_after_the_other_without_a_result(place):
    runs = [place.add(name) for name in ("a", "b")]
    eventually(lambda: len(place.hosts()) == 2)
    successor = place.new_engine("flows-b")
    with folder.locked(place.runs):
        folder.name_successor(place.engine, successor)
    contract.write_progress(successor, {"flows": [], "is_starting": True})
    seen = place.looks
    eventually(lambda: place.looks > seen + 1)
    assert folder.waiting(successor) == []
    contract.write_progress(successor, {"flows": [], "is_starting": False})
    eventually(lambda: len(folder.waiting(successor)) == 1)
    [(_, first)] = folder.waiting(successor)
    assert folder.engine_of(first) == successor
    running = [{"flow": first.name, "state": "running"}]
    contract.write_progress(successor, {"flows": running, "is_starting": False})
    eventually(lambda: len(folder.waiting(successor)) == 2)
    eventually(lambda: place.result is not None)
    assert place.result.outcome is Outcome.SUCCEEDED
    assert [outcome(one) for one in runs] == [None, None]


@pytest.mark.parametrize("before", [None, MOVED, {"message": "Waiting for the engine"}])
def test_a_run_that_was_copied_elsewhere_before_continues_its_counts(place, before):
    place.add("a", before=before)
    eventually(lambda: "a" in place.hosts())
    expected = before if before is MOVED else None
    assert place.drivers["a"].state.progress == expected


def test_an_engine_keeps_its_flows_when_its_successor_dies(place):
    place.add("a")
    eventually(lambda: place.hosts() == {"a": "running"})
    successor = place.new_engine("flows-b")
    contract.write_json(successor / contract.KEEPER, {"pid": os.getpid(), "start_ticks": 1})
    with folder.locked(place.runs):
        folder.name_successor(place.engine, successor)
    eventually(lambda: folder.successor_of(place.engine) is None)
    assert folder.is_open(place.engine)
    assert place.hosts() == {"a": "running"}


def test_without_spark_the_engine_ends_and_leaves_no_results(place):
    run_dir = place.add("a")
    eventually(lambda: "a" in place.drivers)
    place.state.known = "Spark exited."
    eventually(lambda: place.result is not None)
    assert place.result == JobResult(Outcome.CRASHED, "Spark exited.")
    assert outcome(run_dir) is None


def test_a_stopped_engine_stops_all_that_it_has(place):
    runs = [place.add(name) for name in ("a", "b")]
    eventually(lambda: len(place.drivers) == 2)
    (place.engine / contract.STOP).write_text("The lease is over.")
    assert [ended(one).outcome for one in runs] == [Outcome.STOPPED] * 2
    eventually(lambda: place.result is not None)


def test_an_engine_ends_when_it_was_idle_and_not_before(tmp_path):
    with serving(tmp_path / "runs", idle_s=0.0) as place:
        eventually(lambda: place.result is not None)
        assert place.result == JobResult(Outcome.SUCCEEDED, summary={"hosted": 0})
        assert not folder.is_open(place.engine)


def test_what_is_no_run_is_not_waited_for(place):
    with folder.locked(place.runs):
        gone = place.runs / "gone"
        gone.mkdir()
        folder.hand_over(place.engine, gone)
        for file in gone.iterdir():
            file.unlink()
        gone.rmdir()
    place.add("a")
    eventually(lambda: place.hosts() == {"a": "running"})
    assert folder.waiting(place.engine) == []


@pytest.mark.parametrize("asks", ["to stop", "to hand over"])
def test_a_run_whose_folder_was_removed_does_not_hold_up_the_others(place, asks):
    gone, other = place.add("a"), place.add("b")
    eventually(lambda: len(place.hosts()) == 2)
    shutil.rmtree(gone)
    if asks == "to stop":
        (place.engine / contract.STOP).touch()
        assert ended(other).outcome is Outcome.STOPPED
    else:
        successor = place.new_engine("flows-b")
        moved = [{"flow": name, "state": "running"} for name in ("a", "b")]
        contract.write_progress(successor, {"flows": moved, "is_starting": False})
        with folder.locked(place.runs):
            folder.name_successor(place.engine, successor)
        eventually(lambda: folder.engine_of(other) == successor)
    eventually(lambda: place.result is not None)
