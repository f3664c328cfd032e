"""The two clusters of a flow, as its driver asks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copier import PartitionStart
from jobs.replication.fencing import fence_flow
from jobs.replication.flow import FlowSpec
from jobs.replication.fresh_starts import note_fresh_starts
from jobs.replication.plan import Known
from jobs.replication.survey import Survey, survey_flow
from jobs.spark.following import Following
from jobs.spark.recovery import recover


@dataclass(frozen=True, slots=True)
class Clusters:
    """Asked by one thread at a time; everything here raises `ClusterFault`."""

    flow: FlowSpec
    source: ClusterClient
    target: ClusterClient
    following: Following = field(default_factory=Following)

    def begin(self, topic_ids: Mapping[str, str], reset_topics: frozenset[str]) -> Survey:
        """Fence every writer of the flow, then ask: so nobody moves positions afterwards.

        Topics that begin anew, under another id, have their new positions on the target when this returns.
        """
        fence_flow(self.flow)
        survey = self.survey(topic_ids, reset_topics)
        accepted = survey.plan.topic_ids
        anew = {
            topic for topic in accepted if topic_ids.get(topic, accepted[topic]) != accepted[topic]
        }
        fresh = [start for start in survey.plan.starts if start.topic in anew | reset_topics]
        if fresh:
            note_fresh_starts(self.target, self.flow.source.alias, fresh)
        return survey

    def survey(self, topic_ids: Mapping[str, str], reset_topics: frozenset[str]) -> Survey:
        """Ask both clusters what there is to copy from where on."""
        known = Known(
            topic_ids=topic_ids, reset_topics=reset_topics, on_recreated=self.flow.on_recreated
        )
        survey = survey_flow(self.flow, self.source, self.target, known)
        topics = survey.copied_topics()
        if self.following.follow(self.flow, self.source, self.target, topics):
            return survey_flow(self.flow, self.source, self.target, known)
        return survey

    def recover(
        self, task: int, lost: Iterable[PartitionStart], told: Mapping[TopicPartition, int]
    ) -> list[PartitionStart]:
        """Fence a lost task and find out where its partitions are; also raises `PositionsBehind`."""
        return recover(self.flow, self.target, task, lost, told)
