"""A share of a flow in a process of its own, which a test may stop, pause and kill at any moment.

`python -m tests.live.batches.worker FLOW.json SLOT`: fences as a driver does, surveys, copies until SIGTERM,
and prints a line for every change of a partition.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.fencing import fence_flow
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.flow.spec import FlowSpec
from tests.live.surveying import survey_whole
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parents[3]


class Worker:
    """The process seen from the test; `rows` is what it said about each partition in its life."""

    started: ClassVar[list["Worker"]] = []

    def __init__(self, flow: FlowSpec, folder: Path, slot: int = 0) -> None:
        self.rows: dict[tuple[str, int], dict] = {}
        self.error = ""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "flow.json"
        path.write_text(json.dumps(flow.to_mapping()), encoding="utf-8")
        self.log = folder / "worker.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.live.batches.worker", str(path), str(slot)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.started.append(self)

    @property
    def code(self) -> int | None:
        """How the process ended; None: it runs."""
        return self._process.poll()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def records(self) -> int:
        return sum(row["records"] for row in list(self.rows.values()))

    def duplicates(self) -> int:
        return sum(row["duplicates"] for row in list(self.rows.values()))

    def wait_until_begun(self) -> None:
        eventually(lambda: self.rows or self.code is not None, 60)
        assert self.code is None, self.error

    def wait_until_copying(self) -> None:
        eventually(lambda: self.records() > 0 or self.code is not None, 60)
        assert self.code is None, self.error

    def most_memory(self) -> int:
        """Return the largest resident size so far, in bytes (Linux)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def positions(self) -> dict[tuple[str, int], int]:
        return {where: row["position"] for where, row in list(self.rows.items())}

    def kill(self) -> None:
        self._end(signal.SIGKILL, 10)

    def stop(self, within_s: float = 40) -> None:
        self._end(signal.SIGTERM, within_s)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def wait(self, within_s: float) -> int:
        code = self._process.wait(within_s * PATIENCE)
        self._reader.join(10 * PATIENCE)
        return code

    def _end(self, number: signal.Signals, within_s: float) -> None:
        if self.is_running:
            self._process.send_signal(number)
        self.wait(within_s)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # killed in the middle of a line
                told = json.loads(line)
                if "error" in told:
                    self.error = told["error"]
                else:
                    self.rows[told["topic"], told["partition"]] = told


def main(path: str, slot: str) -> int:
    flow = FlowSpec.from_mapping(json.loads(Path(path).read_text(encoding="utf-8")))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def say(line: dict) -> None:
        os.write(1, json.dumps(line).encode() + b"\n")

    try:
        fence_flow(flow)
        starts = survey_whole(flow).plan.starts
        FlowCopier(flow, int(slot)).copy(
            starts, stop.is_set, lambda rows: [say(asdict(row)) for row in rows]
        )
    except (ClusterFault, AssertionError) as fault:  # the survey was not possible in time
        say({"error": f"{type(fault).__name__}: {fault}"})
        return 3
    return 0


if __name__ == "__main__":
    import logging

    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s"
    )
    sys.exit(main(*sys.argv[1:]))
