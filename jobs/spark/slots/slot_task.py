"""The program of a slot: a Spark task whose process copies for several flows, each in a thread.

Messages of the engine: `begin` (a copy: `copy`, `flow`, `task`, `address`), `end` (`copy`), `stop`. Answers:
`usage` every two seconds, `ended` (`copy`, `problem`; null: as requested).
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jobs.logs import log_to_stderr
from jobs.replication.copy.batches.outgoing import in_flight
from jobs.spark import processes
from jobs.spark.channel.line import ChannelAddress, ChannelClient, TaskChannel
from jobs.spark.channel.messages import Message
from jobs.spark.flow_driver.copy_task import copy_until_stop

logger = logging.getLogger(__name__)

USAGE_S = 2.0
# A flow is at work while its reports changed within this time.
AT_WORK_S = 2.0
STOP_WITHIN_S, POLL_S = 30.0, 0.05


def run_slot(number: int, address: ChannelAddress) -> None:
    """Copy what the engine gives to this slot, until it asks for a stop."""
    processes.end_with_parent()
    log_to_stderr()
    logger.info("slot begins number=%d pid=%d", number, os.getpid())
    Slot(address, number).run()


def begin(copy: int, flow: str, task: int, address: ChannelAddress) -> Message:
    """Ask a slot to copy as a task of a flow; `copy` is the engine's number for it."""
    return {"begin": {"copy": copy, "flow": flow, "task": task, "address": asdict(address)}}


def end(copy: int) -> Message:
    """Ask a slot to commit and end a copy."""
    return {"end": copy}


@dataclass(slots=True, eq=False)
class _Copy:
    """A copy in this process; `channel` is None until its flow's driver answered."""

    flow: str
    task: int
    channel: TaskChannel | None = None
    is_ended: bool = False
    worked_at: float = 0.0
    cpu_s: dict[int, float] = field(default_factory=dict)

    def work(self) -> None:
        self.worked_at = time.monotonic()


class Slot(ChannelClient):
    """The copies of this process."""

    def __init__(self, address: ChannelAddress, number: int) -> None:
        super().__init__(address, number)
        self._copies: dict[int, _Copy] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Serve until a stop; then every copy commits what is on its way."""
        threading.Thread(target=self._tell_usage, name="usage", daemon=True).start()
        self.listen()
        with self._lock:
            copies = list(self._copies)
        for copy in copies:
            self._end(copy)
        give_up_at = time.monotonic() + STOP_WITHIN_S
        while self._copies and time.monotonic() < give_up_at:
            time.sleep(POLL_S)
        self.close()

    def take(self, message: Message) -> None:
        """Begin or end a copy."""
        match message:
            case {"begin": values}:
                copy = _Copy(values["flow"], values["task"])
                with self._lock:
                    self._copies[values["copy"]] = copy
                threading.Thread(
                    target=self._work,
                    args=(values["copy"], copy, ChannelAddress(**values["address"])),
                    name=f"{_prefix(copy.flow, copy.task)} copy",
                    daemon=True,
                ).start()
            case {"end": number}:
                self._end(number)

    def _end(self, number: int) -> None:
        with self._lock:
            copy = self._copies.get(number)
            if copy is None:
                return
            copy.is_ended = True
            channel = copy.channel
        if channel is not None:
            channel.request_stop()

    def _work(self, number: int, copy: _Copy, address: ChannelAddress) -> None:
        problem = None
        try:
            channel = TaskChannel(address, copy.task)
            with self._lock:
                copy.channel = channel
                is_ended = copy.is_ended
            if is_ended:
                channel.request_stop()
            copy_until_stop(channel, copy.task, copy.work)
        except Exception as error:  # a copy ends here, the other flows of this process continue
            logger.exception("copy broke flow=%s task=%d", copy.flow, copy.task)
            kind = type(error)
            problem = f"{kind.__module__}.{kind.__qualname__}: {error}"
        with self._lock:
            del self._copies[number]
        self.say({"ended": {"copy": number, "problem": problem}})

    def _tell_usage(self) -> None:
        host, pid = socket.gethostname(), os.getpid()
        while not self._over.wait(USAGE_S):
            self.say({"usage": {"host": host, "pid": pid, **self._usage()}})

    def _usage(self) -> dict[str, Any]:
        """Return `rss_bytes` and `cpu_s` of the process, and of its copies: `cpu_s`, `bytes`, `at_work`."""
        with self._lock:
            copies = dict(self._copies)
        threads = [(one.name, one.native_id) for one in threading.enumerate()]
        waiting, now = in_flight(), time.monotonic()
        flows = Counter(copy.flow for copy in copies.values())
        rows = {}
        for number, copy in copies.items():
            for name, thread in threads:
                if thread is not None and name.startswith(_prefix(copy.flow, copy.task)):
                    copy.cpu_s[thread] = max(_cpu_s(thread), copy.cpu_s.get(thread, 0.0))
            rows[str(number)] = {
                "cpu_s": sum(copy.cpu_s.values()),
                # What two tasks of one flow hold is counted once.
                "bytes": waiting.get(copy.flow, 0) // flows[copy.flow],
                "at_work": now - copy.worked_at <= AT_WORK_S,
            }
        rss = processes.resident_bytes([os.getpid()])
        return {"rss_bytes": rss, "cpu_s": time.process_time(), "copies": rows}


def _prefix(flow: str, task: int) -> str:
    """Return how the names of all threads of a copy begin; see `FlowCopier`."""
    return f"{flow}: task {task}:"


def _cpu_s(thread: int) -> float:
    """Return the processor time of a thread by its number in the system; 0.0 of one that has just ended."""
    try:
        told = Path(f"/proc/self/task/{thread}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(told.split()[0]) / 1e9
