"""All checkpoints that compaction left in a flow's topic, as arrays by remote partition."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.topic_reader import TopicRecord, read_whole_topic
from jobs.replication.checkpoints.topic import PARTITION, CheckpointTopic
from jobs.spark.analyses.offsets.backtesting.truth import Bools, Int64s

_NONE = -1


class Checkpoints(NamedTuple):
    """Checkpoints of one partition in the order of the topic; `at_ms` -1: the record has no time.

    `group` is a place in `CheckpointLog.groups`, `topic` one in `CheckpointLog.topic_ids`.
    """

    at_ms: Int64s
    upstream: Int64s
    downstream: Int64s
    group: Int64s
    topic: Int64s

    @classmethod
    def none(cls) -> Checkpoints:
        return cls(*np.empty((5, 0), np.int64))

    def are_about_others(self, topic_ids: list[str], topic_id: str | None) -> Bools:
        """Return which are known to be about another remote topic than the one with an id."""
        others = [bool(topic_id and one and one != topic_id) for one in topic_ids]
        found: Bools = np.array(others, np.bool_)[self.topic]
        return found


@dataclass(slots=True)
class CheckpointLog:
    """What was read; `older` and `refused` count records that are left out. 40 bytes a checkpoint."""

    groups: list[str] = field(default_factory=list)
    topic_ids: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    older: int = 0
    exists: bool = True
    _columns: dict[TopicPartition, list[array[int]]] = field(default_factory=dict)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def partitions(self) -> list[TopicPartition]:
        return list(self._columns)

    def of(self, where: TopicPartition) -> Checkpoints:
        """Return the checkpoints of a remote partition."""
        columns = self._columns.get(where)
        if columns is None:
            return Checkpoints.none()
        return Checkpoints(*(np.array(column, np.int64) for column in columns))

    def take(self, topic: CheckpointTopic, since_ms: int) -> None:
        """Take the checkpoints that a topic holds, and let it forget them."""
        self.refused += topic.refused
        for key, kept in topic.checkpoints.items():
            at_ms = _NONE if kept.timestamp_ms is None else kept.timestamp_ms
            if _NONE < at_ms < since_ms:
                self.older += 1
                continue
            row = (
                at_ms,
                kept.checkpoint.upstream_offset,
                kept.checkpoint.downstream_offset,
                self._number(self.groups, "group", key.group),
                self._number(self.topic_ids, "topic", kept.topic_id),
            )
            columns = self._columns.setdefault(key.where, [array("q") for _ in row])
            for column, value in zip(columns, row, strict=True):
                column.append(value)
        topic.checkpoints.clear()
        topic.refused.clear()

    def _number(self, names: list[str], kind: str, name: str) -> int:
        number = self._numbers.setdefault((kind, name), len(names))
        if number == len(names):
            names.append(name)
        return number


def read_checkpoint_log(
    client: ClusterClient, topic: str, since_ms: int, group: str | None
) -> CheckpointLog:
    """Read every checkpoint of a topic that was written since; `group` None: of all groups.

    Raises `ClusterFault`: there are no half answers.
    """
    log, one = CheckpointLog(), CheckpointTopic(topic)

    def take(record: TopicRecord) -> None:
        one.take(record.key, record.value, record.timestamp_ms, record.offset, record.headers)
        if group is not None:
            for key in [key for key in one.checkpoints if key.group != group]:
                del one.checkpoints[key]
        log.take(one, since_ms)

    log.exists = read_whole_topic(client, topic, take, only_partition=PARTITION) is not None
    return log
