"""Two clusters and a flow between them, for tests of what happens to remote topics."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.cluster.admin.configs import (
    ConfigAlteration,
    ConfigValue,
    alter_topic_configs,
    describe_topic_configs,
)
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import UnknownTopicOrPartition
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import Preflight, preflight_flow
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.plan import TopicPlan
from jobs.replication.topics.sync import TopicSync, plan_sync, sync_topics
from tests.live.surveying import SURVEYED_WITHIN_S
from tests.waiting import eventually


@dataclass
class Following:
    """A flow, its two clusters, and what a driver does with them at every refresh."""

    flow: FlowSpec
    source: ClusterClient
    target: ClusterClient

    def survey(self) -> Preflight:
        """Ask again as a driver does while the flow's own topics, just made, have no leaders yet."""
        return eventually(
            lambda: preflight_flow(self.flow, self.source, self.target, Known()),
            SURVEYED_WITHIN_S,
            every=0.2,
        )

    def sync(self, last: TopicSync | None = None) -> TopicSync:
        survey = self.survey()
        topics = survey.copied_topics()
        for topic in topics:  # a topic that was just made is not known to every broker at once
            name = survey.places[topic.name].remote_topic
            eventually(lambda name=name: configs_of(self.target, name), 20)
        copied = last.overrides if last else None
        return sync_topics(self.source, self.target, self.flow, topics, datetime.now(UTC), copied)

    def plan(self, names: Sequence[str]) -> TopicPlan:
        return plan_sync(self.source, self.target, self.flow, describe_topics(self.source, names))


@contextmanager
def following(
    source: Connection, target: Connection, topic: str, **settings
) -> Iterator[Following]:
    """Make a flow of one topic (a pattern) with open clients."""
    flow = FlowSpec(f"follow {topic}", source, target, (topic,), **settings)
    # A broker may be stalled for longer than the default.
    with ClusterClient(source, timeout_s=60) as one, ClusterClient(target, timeout_s=60) as other:
        yield Following(flow, one, other)


def alter(client: ClusterClient, topic: str, **settings: str | None) -> None:
    """Set and delete settings of a topic, `_` for `.`, and wait until every broker knows.

    Any broker may be asked, and one may be behind: so many answers in a row that it is none.
    """
    wanted = {key.replace("_", "."): value for key, value in settings.items()}
    alterations = [ConfigAlteration(key, value) for key, value in wanted.items()]
    eventually(lambda: _altered(client, topic, alterations), 20)
    eventually(lambda: all(_is(configs_of(client, topic), wanted) for _ in range(10)), 20)


def _altered(client: ClusterClient, topic: str, alterations: list[ConfigAlteration]) -> bool:
    """Return whether it was done; now and then a controller does not know a new topic for a moment."""
    fault = alter_topic_configs(client, {topic: alterations})[topic]
    assert fault is None or isinstance(fault, UnknownTopicOrPartition), fault
    return fault is None


def configs_of(client: ClusterClient, topic: str) -> dict[str, ConfigValue]:
    found = describe_topic_configs(client, [topic])[topic]
    return found if isinstance(found, dict) else {}


def value_of(client: ClusterClient, topic: str, key: str) -> tuple[str | None, bool]:
    """Return the value of a setting, and whether the topic itself sets it."""
    found = configs_of(client, topic)[key]
    return found.value, found.is_override


def _is(found: Mapping[str, ConfigValue], wanted: Mapping[str, str | None]) -> bool:
    return all(
        key in found
        and (not found[key].is_override if value is None else found[key].value == value)
        for key, value in wanted.items()
    )
