"""What every journey shares: a lab, a console with both clusters registered, and the flows made in it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import PartitionDescription
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from tests.console.delivery.mail_server import Mailbox
from tests.live.topics import make_topic
from tests.running_console import RunningConsole
from tests.waiting import eventually

COPIES_WITHIN_S = 60
ENDS_WITHIN_S = 60
IN_SYNC_WITHIN_S = 60


@dataclass
class World:
    """One lab, one console and one mail server for the whole run."""

    lab: Lab
    console: RunningConsole
    mailbox: Mailbox

    @property
    def east(self) -> Cluster:
        """The source: three nodes."""
        return self.lab.cluster("east")

    @property
    def west(self) -> Cluster:
        """The target: one node."""
        return self.lab.cluster("west")

    def get(self, path: str) -> Any:
        """Return the JSON of an API route below /api/v1/."""
        return self.console.visitor.get(f"api/v1/{path}")

    def post(self, path: str, values: Mapping[str, object] | None = None) -> Any:
        """Post JSON to an API route below /api/v1/."""
        return self.console.visitor.post(f"api/v1/{path}", values)

    def register(self) -> None:
        """Register both clusters, unless a journey before has done it."""
        known = {one["alias"] for one in self.get("clusters/")["results"]}
        for cluster in (self.east, self.west):
            if (alias := cluster.plan.alias) not in known:
                self.post(
                    "clusters/", {"alias": alias, "bootstrap_servers": cluster.bootstrap_servers}
                )

    def topic(self, purpose: str, partitions: int = 1, **configs: str) -> str:
        """Create a topic on east with a name of its own."""
        name = f"{purpose}-{uuid.uuid4().hex[:8]}"
        make_topic(self.east, name, partitions, **configs)
        return name

    def partition(self, topic: str, partition: int = 0) -> PartitionDescription:
        """Return a partition of east, as soon as it has a leader."""

        def described() -> PartitionDescription | None:
            with ClusterClient(self.east.connection, timeout_s=60) as client:
                (found,) = describe_topics(client, [topic])
            one = next((p for p in found.partitions if p.partition == partition), None)
            return one if one is not None and one.leader is not None else None

        return eventually(described, 30)

    def start_all(self) -> None:
        """Start what a journey killed on east, and wait until every replica is in sync."""
        for node in self.east.nodes.values():
            node.start()
        self.east.wait_until_serving()
        eventually(self._is_in_sync, IN_SYNC_WITHIN_S, every=0.3)

    def _is_in_sync(self) -> bool:
        with ClusterClient(self.east.connection, timeout_s=60) as client:
            topics = describe_topics(client)
        return all(set(p.replicas) == set(p.isr) for topic in topics for p in topic.partitions)

    @contextmanager
    def flow(self, topic: str, **settings: object) -> Iterator[ConsoleFlow]:
        """A started flow of one topic (a pattern) from east to west; it is deleted with the block."""
        values = {"name": topic, "source": "east", "target": "west", "topics": [topic]}
        made = self.post("flows/", values | {"start": True} | settings)
        with self.deleted_at_end(made["id"], topic) as flow:
            yield flow

    @contextmanager
    def deleted_at_end(self, flow_id: int, topic: str = "") -> Iterator[ConsoleFlow]:
        """A flow that exists; it is deleted with the block."""
        flow = ConsoleFlow(self, flow_id, topic)
        try:
            yield flow
        finally:
            flow.delete()


@dataclass
class ConsoleFlow:
    """A flow of the console, as its REST API shows it."""

    world: World
    id: int
    topic: str

    def shown(self) -> dict[str, Any]:
        """Return the flow with its status and lag."""
        return dict(self.world.get(f"flows/{self.id}/"))

    def partitions(self) -> list[dict[str, Any]]:
        """Return position, end, lag and state of each partition."""
        return list(self.world.get(f"flows/{self.id}/partitions/?limit=500")["results"])

    def wait_for_positions(
        self, ends: Mapping[int, int], within_s: float = COPIES_WITHIN_S
    ) -> None:
        """Wait until each partition of the topic is copied up to its end, and the console says so."""

        def positions() -> dict[int, int]:
            rows = [row for row in self.partitions() if row["topic"] == self.topic]
            return {row["partition"]: row["position"] or 0 for row in rows}

        eventually(
            lambda: (
                (found := positions()) and all(found.get(p, 0) >= end for p, end in ends.items())
            ),
            within_s,
            every=0.3,
        )

    def restart(self) -> None:
        """Stop the flow, wait until its run has ended, and start it again at its positions."""
        self.world.post(f"flows/{self.id}/stop/")
        eventually(lambda: not self.has_run(), ENDS_WITHIN_S, every=0.3)
        self.world.post(f"flows/{self.id}/start/")

    def has_run(self) -> bool:
        """Return whether the flow has a running run."""
        runs = self.world.get(f"runs/?state=RUNNING&subject=flow:{self.id}")["results"]
        return bool(runs)

    def delete(self) -> None:
        """Delete the flow, which ends its run, and wait until it is gone."""
        self.world.console.visitor.delete(f"api/v1/flows/{self.id}/")
        eventually(
            lambda: self.id not in {one["id"] for one in self.world.get("flows/")["results"]},
            ENDS_WITHIN_S,
            every=0.3,
        )
