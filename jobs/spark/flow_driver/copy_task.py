"""The program of a Spark task of a flow: one engine copies its partitions until a stop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from jobs.cluster.errors import ClusterFault
from jobs.logs import log_to_stderr
from jobs.replication.copy.contract import PartitionProgress
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import processes
from jobs.spark.channel.line import ChannelAddress, TaskChannel
from jobs.spark.channel.messages import values_of

logger = logging.getLogger(__name__)


def run_task(number: int, address: ChannelAddress) -> None:
    """Copy the partitions that the driver gives to this task, until it asks for a stop."""
    processes.end_with_parent()
    log_to_stderr()
    logger.info("task begins number=%d code=%s", number, Path(__file__).parent.parent.parent)
    copy_until_stop(TaskChannel(address, number), number)


def copy_until_stop(
    channel: TaskChannel, number: int, on_progress: Callable[[], None] = lambda: None
) -> None:
    """Copy as the task of this number; `on_progress` is called when a partition's report changes."""
    from jobs.replication.copy.flow_copier import FlowCopier  # the driver does without the engine

    try:
        if channel.assignment is None:
            return
        flow = FlowSpec.from_mapping(channel.assignment["flow"])

        def report(partitions: Sequence[PartitionProgress]) -> None:
            on_progress()
            channel.report([values_of(partition) for partition in partitions])

        FlowCopier(flow, number, channel.should_stop, report, channel.changes).copy([])
    except ClusterFault as fault:
        channel.report_fault(fault)
        raise
    finally:
        channel.close()
