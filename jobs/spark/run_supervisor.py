"""The supervisor of a run: the one process that starts Spark, ends it, and never lets it outlive its owner.

Life of a run: owner -> supervisor (own session) -> spark-submit's JVM -> Python driver and workers.
The JVM dies with the supervisor (kernel signal), driver and workers die with the JVM (they watch it).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

from jobs.logs import rotate
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome

POLL_S = 0.25
GRACE_S = 30.0
KILL_AFTER_TERM_S = 5.0
# How often the size of the log is looked at.
ROTATE_EVERY_S = 10.0


class RunSupervisor:
    """Starts one Spark application and stays with it to its end.

    One that is to stop, or has written its result, has `grace_s` for it.
    """

    def __init__(self, run_dir: Path, spec: JobSpec, grace_s: float = GRACE_S) -> None:
        self.run_dir = run_dir
        self.spec = spec
        self.grace_s = grace_s
        self.owner = os.getppid()
        self.stop_seen_at: float | None = None
        self.result_seen_at: float | None = None
        self.rotated_at = time.monotonic()

    def supervise(self) -> int:
        """Run to the end and return the exit code of the application."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        application = subprocess.Popen(
            submit.submit_command(self.spec, self.run_dir),
            stdin=subprocess.DEVNULL,
            preexec_fn=processes.end_with_parent_thread,  # noqa: PLW1509  single-threaded here
        )
        ended = os.pidfd_open(application.pid)
        while application.poll() is None:
            self._look(application)
            select.select([ended], [], [], POLL_S)
        os.close(ended)
        self._write_missing_result(application.returncode)
        return application.returncode

    def _look(self, application: subprocess.Popen[bytes]) -> None:
        now = time.monotonic()
        if now - self.rotated_at >= ROTATE_EVERY_S:
            self.rotated_at = now
            self._rotate_log()
        if self.stop_seen_at is None and self._should_stop():
            self.stop_seen_at = now
        if self.result_seen_at is None and (self.run_dir / contract.RESULT).exists():
            self.result_seen_at = now
        ending = [one for one in (self.stop_seen_at, self.result_seen_at) if one is not None]
        if ending and now - min(ending) > self.grace_s:
            self._end(application)

    def _rotate_log(self) -> None:
        """Keep the log small; a full disk must not end the run."""
        with suppress(OSError):
            rotate(self.run_dir / contract.LOG)

    def _should_stop(self) -> bool:
        """Return whether a stop was requested; requests it when the lease is over."""
        if self.spec.lease_s is None and os.getppid() != self.owner:
            submit.request_stop(self.run_dir, "The process that started this run has ended.")
        if self.spec.lease_s is not None and self._lease_age_s() > self.spec.lease_s:
            reason = f"The lease of this run was not renewed for {self.spec.lease_s:.0f} s."
            submit.request_stop(self.run_dir, reason)
        return (self.run_dir / contract.STOP).exists()

    def _lease_age_s(self) -> float:
        try:
            return time.time() - (self.run_dir / contract.LEASE).stat().st_mtime
        except FileNotFoundError:
            return float("inf")

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        submit.request_stop(self.run_dir)

    def _end(self, application: subprocess.Popen[bytes]) -> None:
        """End an application that did not stop by itself: politely, then not."""
        family = [*processes.children_of(application.pid), application.pid]
        processes.signal_all(family, signal.SIGTERM)
        try:
            application.wait(KILL_AFTER_TERM_S)
        except subprocess.TimeoutExpired:
            processes.signal_all(family, signal.SIGKILL)
            application.wait()

    def _write_missing_result(self, exit_code: int) -> None:
        if contract.read_result(self.run_dir) is not None:
            return
        if self.stop_seen_at is not None:
            result = JobResult(Outcome.STOPPED, submit.stop_reason(self.run_dir))
        else:
            tail = submit.read_log_tail(self.run_dir, 2_000).strip()
            result = JobResult(
                Outcome.CRASHED,
                f"The Spark application ended with exit code {exit_code} and left no result. "
                f"Last lines of its log:\n{tail}",
            )
        contract.write_result(self.run_dir, result)


def main(folder: str) -> int:
    """Keep the run of this folder."""
    run_dir = Path(folder)
    try:
        return RunSupervisor(run_dir, contract.read_spec(run_dir)).supervise()
    except (OSError, ValueError) as error:
        result = JobResult(Outcome.CRASHED, f"Spark could not be started: {error}")
        contract.write_result(run_dir, result)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
