"""What runs inside a Spark task of a flow: one engine, its partitions, until told to stop."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from jobs.replication.copier import PartitionProgress, PartitionStart
from jobs.replication.flow import FlowSpec
from jobs.replication.flow_copier import FlowCopier
from jobs.spark import processes
from jobs.spark.channel import ChannelAddress, TaskChannel

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def run_task(task: int, address: ChannelAddress) -> int:
    """Copy the partitions that the driver assigns to this task; return how many there were."""
    processes.end_with_parent()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    channel = TaskChannel(address, task)
    try:
        flow = FlowSpec.from_mapping(channel.assignment["flow"])
        starts = [PartitionStart(**start) for start in channel.assignment["partitions"]]

        def report(partitions: Sequence[PartitionProgress]) -> None:
            channel.report([asdict(partition) for partition in partitions])

        copier = FlowCopier(flow, task, channel.assignment["shares"])
        copier.copy(starts, channel.should_stop, report)
        return len(starts)
    finally:
        channel.close()


class TaskFunction:
    """A function for `mapPartitionsWithIndex` that carries the channel's address and nothing else."""

    def __init__(self, address: ChannelAddress) -> None:
        self.address = address

    def __call__(self, index: int, _elements: Iterable[int]) -> Iterator[int]:
        """Run the task of this index; yields how many partitions it had."""
        yield run_task(index, self.address)
