"""What the driver of a flow needs of the application around it: tasks, a channel to them, its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from jobs.memory import give_back_memory
from jobs.spark import processes
from jobs.spark.channel.line import DriverChannel, Event
from jobs.spark.flow_driver.copy_task import run_task
from jobs.spark.flow_driver.task_pool import SparkJob, TaskJob
from jobs.spark.secret import is_one_process, shrink_heap, why_over

if TYPE_CHECKING:
    from pyspark import SparkContext

USAGE_S = 10.0

OnEvent = Callable[[Event], None]


class Host(Protocol):
    """Where a flow's driver runs: an application of its own, or an engine of flows."""

    def open_channel(self, on_event: OnEvent) -> DriverChannel: ...

    def start_job(self, channel: DriverChannel, number: int) -> TaskJob: ...

    def why_over(self) -> str | None:
        """Return why nothing can be copied any more, in a sentence; looked at about once a second."""

    def settle(self) -> None:
        """Give back what only the start needed: the first record is copied."""

    def usage(self) -> dict[str, Any]:
        """Return `name` of the engine ("": an application of its own), `slots`, `cpu_percent` (of one core;
        None: not known) and `memory_bytes` of the flow."""


class OwnApplication:
    """The host of a flow that has a Spark application of its own."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._usage: dict[str, Any] = {}
        self._usage_at = 0.0

    def open_channel(self, on_event: OnEvent) -> DriverChannel:
        """Return a channel that tasks of this application reach."""
        return open_channel(self._context, on_event)

    def start_job(self, channel: DriverChannel, number: int) -> SparkJob:
        """Start a Spark job of one task."""
        return SparkJob(self._context, run_task, channel.address, number)

    def why_over(self) -> str | None:
        """Return why Spark works no longer."""
        return why_over(self._context)

    def settle(self) -> None:
        """Let the JVM and this process give back memory."""
        shrink_heap(self._context)
        give_back_memory()

    def usage(self) -> dict[str, Any]:
        """Return the memory of all processes of this application; to find them takes time."""
        now_s = time.monotonic()
        if now_s >= self._usage_at:
            self._usage_at = now_s + USAGE_S
            jvm = os.getppid()
            memory = processes.resident_bytes([jvm, *processes.children_of(jvm)])
            self._usage = {"name": "", "slots": [], "cpu_percent": None, "memory_bytes": memory}
        return self._usage


def open_channel(context: SparkContext, on_event: OnEvent) -> DriverChannel:
    """Return a channel that tasks of a Spark application reach; sealed where they run on other machines."""
    found = context.getConf()
    host = str(found.get("spark.driver.host", "127.0.0.1"))
    bind_host = found.get("spark.driver.bindAddress", host)
    is_sealed = not is_one_process(str(context.master))
    return DriverChannel(host, on_event, bind_host=bind_host, is_sealed=is_sealed)
