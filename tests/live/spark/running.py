"""One flow through Spark that a test starts, watches and asks for something while it runs."""

import itertools
import threading
from collections import Counter
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobSpec
from tests.live.records import Record, read_all, write
from tests.waiting import eventually

STARTS_WITHIN_S = 90
FOLLOWS_WITHIN_S = 45


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
        found = submit.read_progress(self.folder)
        return found or {"partitions": [], "tasks": [], "restarts": 0, "moves": 0}

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
            if "pyspark.daemon" in _command(pid) and not processes.children_of(pid)
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
