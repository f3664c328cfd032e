"""Partitions that a remote topic lacks. Pure.

Source: MirrorSourceConnector.computeAndCreateTopicPartitions: a remote topic only ever grows. Unlike
there, a person is told where more partitions change what a key means.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.replication.flow.spec import FlowSpec, PolicyName
from jobs.replication.topics.changes import PARTITIONS, TopicChange


@dataclass(frozen=True, slots=True)
class Growth:
    """A remote topic with fewer partitions than its source; `warnings` are findings for a person."""

    topic: str
    remote_topic: str
    before: int
    after: int
    warnings: tuple[str, ...] = ()

    def change(self) -> TopicChange:
        """Return the growth as a change."""
        why = f"The source topic {self.topic} has {self.after} partitions."
        return TopicChange(self.remote_topic, PARTITIONS, str(self.before), str(self.after), why)


def plan_growth(
    flow: FlowSpec, topic: str, remote_topic: str, counts: tuple[int, int], cleanup_policy: str
) -> Growth | None:
    """Return how a remote topic grows; None when it has enough partitions, or the flow may not.

    `counts` are the partitions of the source topic and of the remote topic.
    """
    wanted, there = counts
    if there >= wanted or not flow.grow_partitions:
        return None
    moved = f"{remote_topic} grows from {there} to {wanted} partitions"
    warnings = []
    if flow.policy is PolicyName.IDENTITY:
        warnings.append(
            f"{moved}: a producer that writes into it on the target sends keys to other partitions "
            "from now on, and applications with state by partition must be rebuilt."
        )
    if "compact" in cleanup_policy:
        warnings.append(
            f"{moved} and is compacted: an old value of a key may stay for ever in the partition that "
            "the key had before, here as on the source."
        )
    return Growth(topic, remote_topic, there, wanted, tuple(warnings))
