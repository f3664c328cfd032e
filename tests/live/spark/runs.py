"""Runs of Spark that a test starts, watches and asks for something: flows, and analyses of an engine."""

import itertools
import os
import signal
import threading
import uuid
from collections import Counter
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.quorum.replay.ahead import PARTITIONS, small_log
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobResult, JobSpec
from jobs.spark.engine import door
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.values import uuid_text
from tests.jobs.quorum.replay.test_replay import batch
from tests.live.records import Record, read_all, write
from tests.waiting import eventually

STARTS_WITHIN_S = 90
FOLLOWS_WITHIN_S = 45
ENGINE_STARTS_WITHIN_S = 120
KIND = "metadata-records"
SMALL_LOG_RECORDS, LARGE_LOG_BATCHES = 86, 85
# As /proc/net/tcp has it.
ESTABLISHED = "01"


class RunningFlow:
    """A flow in a run folder of its own; as a context manager it is killed with the block."""

    def __init__(self, flow: FlowSpec, folder: Path, *, spark=None, environment=None, **arguments):
        self.folder = folder
        values = {"flow": flow.to_mapping(), "refresh_s": 1.0, **arguments}
        self._spec = JobSpec("running", "replicate", values, lease_s=600.0, spark=spark or {})
        self._environment = environment

    def __enter__(self):
        submit.start_run(self._spec, self.folder, self._environment)
        return self

    def __exit__(self, *_):
        submit.kill_run(self.folder)
        eventually(lambda: not submit.is_alive(self.folder))

    def stop(self):
        """Stop in order and return the result."""
        submit.request_stop(self.folder)
        eventually(lambda: not submit.is_alive(self.folder), 60)
        return contract.read_result(self.folder)

    def ask(self, **control):
        contract.write_control(self.folder, control)

    @property
    def progress(self) -> dict:
        found = submit.read_progress(self.folder) or {}
        # A run that waits for its engine has none of these.
        return {"partitions": [], "tasks": [], "restarts": 0, "moves": 0, **found}

    def rows(self, topic: str | None = None) -> dict[int, dict]:
        """Rows by partition."""
        rows = self.progress["partitions"]
        return {row["partition"]: row for row in rows if topic in (None, row["topic"])}

    def wait_for_positions(self, ends: dict[int, int], topic=None, within_s=STARTS_WITHIN_S):
        def are_there() -> bool:
            rows = self.rows(topic)
            return all(p in rows and rows[p]["position"] >= end for p, end in ends.items())

        try:
            eventually(are_there, within_s)
        except AssertionError:
            seen = {p: (r["position"], r["state"], r["reason"]) for p, r in self.rows().items()}
            raise AssertionError(f"wanted {ends}, saw {seen}; {self.log_tail()}") from None

    def wait_for_states(self, states: dict[int, str], topic=None, within_s=FOLLOWS_WITHIN_S):
        def are_there() -> bool:
            rows = self.rows(topic)
            return all(p in rows and rows[p]["state"] == state for p, state in states.items())

        eventually(are_there, within_s)

    def wait_for_tasks(self, count: int) -> None:
        """Wait until so many tasks listen: one that only comes up has nothing, and is not missed."""
        eventually(
            lambda: [one["state"] for one in self.progress["tasks"]] == ["running"] * count,
            STARTS_WITHIN_S,
        )

    def log_tail(self) -> str:
        return submit.read_log_tail(self.folder, 3000)

    def pids(self) -> list[int]:
        """Every process of the run on this machine."""
        keeper = contract.read_json(self.folder / contract.KEEPER)["pid"]
        return [keeper, *processes.children_of(keeper)]

    def task_pids(self) -> list[int]:
        """The Python workers at work: those with a connection to the driver's channel have no children."""
        return [
            pid
            for pid in self.pids()
            if "pyspark.worker" in _command(pid) and not processes.children_of(pid)
        ]


def flow_to_nobody() -> FlowSpec:
    """A flow between clusters that are not there: its driver comes up and goes on trying."""
    nobody = [Connection(alias, "127.0.0.1:1") for alias in ("east", "west")]
    return FlowSpec("to nobody", nobody[0], nobody[1], ("orders",))


class Writer:
    """Writes numbered records of a size to partitions, about every 20 ms, until the block ends."""

    def __init__(self, cluster, topic: str, partitions, value_bytes: int = 10, batch: int = 50):
        self.written: list[Record] = []
        self._stop = threading.Event()
        self._batch = (list(partitions), value_bytes, batch)
        self._thread = threading.Thread(target=self._run, args=(cluster, topic), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    @property
    def ends(self) -> dict[int, int]:
        return dict(Counter(record.partition for record in self.written))

    def _run(self, cluster, topic):
        partitions, size, count = self._batch
        for number in itertools.count():
            if self._stop.wait(0.02):
                return
            batch = [
                Record(p, value=f"{number}-{n}-".encode().ljust(size, b"x"))
                for p in partitions
                for n in range(count)
            ]
            write(cluster, topic, batch)
            self.written += batch


def values(records) -> dict[int, list[bytes]]:
    """Values in the order of each partition."""
    found: dict[int, list[bytes]] = {}
    for record in records:
        found.setdefault(record.partition, []).append(record.value)
    return found


def assert_copied(written, cluster, topic: str) -> None:
    """Every record once, in order."""
    wanted, found = values(written), values(read_all(cluster, topic))
    assert {p: len(v) for p, v in found.items()} == {p: len(v) for p, v in wanted.items()}
    assert found == wanted


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def write_small_log(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for offset, segment in small_log().items():
        (folder / f"{offset:020}.log").write_bytes(segment)
    return folder


def write_large_log(folder: Path) -> Path:
    """Write the small log, and behind it changes of its partitions, so many that tasks share them."""
    write_small_log(folder)
    changes = [
        encode_metadata_record(
            "PARTITION_CHANGE_RECORD",
            1,
            {"partitionId": at % PARTITIONS, "topicId": uuid_text((7).to_bytes(16)), "isr": isr},
        )
        for at, isr in enumerate(itertools.islice(itertools.cycle(([1, 2], [2], [2, 1])), 5000))
    ]
    content = batch(SMALL_LOG_RECORDS, *changes)
    # The base offset is not in the checksum of a batch.
    starts = range(SMALL_LOG_RECORDS, SMALL_LOG_RECORDS + LARGE_LOG_BATCHES * 5000, 5000)
    copies = b"".join(start.to_bytes(8) + content[8:] for start in starts)
    (folder / f"{SMALL_LOG_RECORDS:020}.log").write_bytes(copies)
    return folder


def spec_of(log: Path, tables: Path, lease_s: float = 600.0, kind: str = KIND) -> JobSpec:
    """A question about a log; without a kind, what it consists of."""
    values = {"arguments": {"log": str(log)}, "tables": str(tables), "tasks": 2}
    values["histories"] = str(tables.parent / "histories")
    return JobSpec(uuid.uuid4().hex, kind, values, lease_s)


def ask(runs: Path, log: Path, *, environment=None, **changes) -> Path:
    """Hand a question over and return the folder of its run."""
    run_dir = runs / uuid.uuid4().hex[:8]
    door.start_run(spec_of(log, run_dir / "tables", **changes), run_dir, environment)
    return run_dir


def answer_of(run_dir: Path) -> JobResult:
    """Wait for the end of a run and return its result; None where its engine died."""
    eventually(lambda: not door.is_alive(run_dir), ENGINE_STARTS_WITHIN_S)
    return contract.read_result(run_dir)


def engine_of(run_dir: Path) -> Path:
    return run_dir.parent / contract.read_json(run_dir / contract.KEEPER)["engine"]


def family_of(engine: Path) -> list[int]:
    """The supervisor of an engine and everything below it."""
    keeper = contract.read_json(engine / contract.KEEPER)["pid"]
    return [keeper, *processes.children_of(keeper)]


def with_word(pids: list[int], word: str) -> list[int]:
    """Those that have a word in their command line."""
    found = []
    for pid in pids:
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def workers_of(engine: Path) -> list[int]:
    """The Python processes that do tasks: those that Spark's daemon forked."""
    daemons = with_word(family_of(engine), "pyspark.worker")
    return [pid for pid in daemons if not processes.children_of(pid)]


def freeze_workers(engine: Path) -> list[int]:
    """Let the workers of an engine stand still: what is asked next does not end."""
    found = workers_of(engine)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return found


def holding_work(pids: list[int]) -> set[int]:
    """Those that stand still with something to do: bytes wait in a socket of theirs."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    unread = {
        f"socket:[{inode}]"
        for _, _, _, state, queues, *_, inode in (row[:10] for row in rows)
        if state == ESTABLISHED and int(queues.split(":")[1], 16)
    }
    return {
        pid
        for pid in pids
        if unread & {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    }


def end_engines(runs: Path) -> None:
    for one in runs.glob("engine-*"):
        submit.kill_run(one)
        eventually(lambda one=one: not submit.is_alive(one))
