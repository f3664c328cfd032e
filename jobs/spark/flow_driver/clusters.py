"""Requests of the driver to the two clusters of a flow, outside its loop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import SameCluster
from jobs.replication.copy.batches.markers import fence_flow
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.fresh_starts import note_fresh_starts
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import Preflight, preflight_flow
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.flow_driver.recovery import recover
from jobs.spark.flow_driver.state import TopicSyncSchedule

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a question: a value, or what it raised."""

    name: str
    value: object = None
    error: Exception | None = None


class BackgroundCall:
    """One question at a time, each in a thread of the flow that dies with the process.

    `on_answer` is called from that thread.
    """

    def __init__(self, flow: str, on_answer: Callable[[], None] = lambda: None) -> None:
        self._flow = flow
        self._on_answer = on_answer
        self._answers: list[CallResult] = []
        self.is_busy = False

    def start(self, name: str, question: Callable[[], object]) -> None:
        """Begin with a question; only when not busy, which ends when the answer is taken."""
        assert not self.is_busy  # noqa: S101  the caller asked
        self.is_busy = True
        threading.Thread(
            target=self._work, args=(name, question), name=f"{self._flow}: {name}", daemon=True
        ).start()

    def result(self) -> CallResult | None:
        """Return the answer when it is there."""
        if not self._answers:
            return None
        self.is_busy = False
        return self._answers.pop()

    def _work(self, name: str, question: Callable[[], object]) -> None:
        try:
            self._answers.append(CallResult(name, question()))
        except Exception as error:  # noqa: BLE001  it is raised or told where the answer is taken
            logger.info("a question failed name=%s error=%s", name, error)
            self._answers.append(CallResult(name, error=error))
        self._on_answer()


@dataclass(slots=True)
class Clusters:
    """Asked by one thread at a time; everything here raises `ClusterFault`.

    `flow` is replaced when settings change: an answer that is on its way is by the old ones.
    """

    flow: FlowSpec
    source: ClusterClient
    target: ClusterClient
    following: TopicSyncSchedule = field(default_factory=TopicSyncSchedule)

    def begin(self, topic_ids: Mapping[str, str], reset_topics: frozenset[str]) -> Preflight:
        """Fence every writer of the flow, then ask: so positions do not move afterwards.

        Raises `SameCluster` before anything is written when source and target are one cluster.

        Topics that start over, under another id, have their new positions on the target when this returns.
        """
        self._refuse_same_cluster()
        fence_flow(self.flow)
        survey = self.survey(topic_ids, reset_topics)
        accepted = survey.plan.topic_ids
        recreated = {
            topic for topic in accepted if topic_ids.get(topic, accepted[topic]) != accepted[topic]
        }
        fresh = [start for start in survey.plan.starts if start.topic in recreated | reset_topics]
        if fresh:
            note_fresh_starts(self.target, self.flow.source.alias, fresh)
        return survey

    def survey(self, topic_ids: Mapping[str, str], reset_topics: frozenset[str]) -> Preflight:
        """Ask both clusters what there is to copy from where on."""
        known = Known(
            topic_ids=topic_ids, reset_topics=reset_topics, on_recreated=self.flow.on_recreated
        )
        survey = preflight_flow(self.flow, self.source, self.target, known)
        topics = survey.copied_topics()
        if self.following.sync_if_due(self.flow, self.source, self.target, topics):
            return preflight_flow(self.flow, self.source, self.target, known)
        return survey

    def _refuse_same_cluster(self) -> None:
        """Ask both who they are: a flow file may name the same cluster under two aliases."""
        source_id = describe_cluster(self.source).cluster_id
        target_id = describe_cluster(self.target).cluster_id
        known = replace(
            self.flow,
            source=replace(self.flow.source, cluster_id=source_id),
            target=replace(self.flow.target, cluster_id=target_id),
        )
        problem = known.same_cluster_problem()
        if problem:
            raise SameCluster(problem, cluster=self.flow.target.alias)

    def recover(
        self, task: int, lost: Iterable[PartitionStart], told: Mapping[TopicPartition, int]
    ) -> list[PartitionStart]:
        """Fence a lost task and find out where its partitions are; also raises `PositionsBehind`."""
        return recover(self.flow, self.target, task, lost, told)
