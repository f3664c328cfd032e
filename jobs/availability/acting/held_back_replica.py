"""Actor (b): a replica that a replication throttle keeps out of the ISR, let in by lifting the throttle.

Promotion only: a replica in the ISR is never throttled, so a new throttle removes no replica from it.
Source: KIP-73; leader.replication.throttled.replicas and follower.replication.throttled.replicas of a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.availability.acting.cluster_connections import (
    ClusterConnections,
    Stopwatch,
    verify,
    wait_for,
    with_cluster,
)
from jobs.availability.acting.partition_facts import PartitionFacts, read_partitions
from jobs.availability.acting.plans import Outcome, Plan, PlannedRequest, Verdict
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.cluster.admin.configs import (
    ConfigValue,
    Resource,
    ResourceType,
    alter_configs,
    read_configs,
)
from jobs.cluster.admin.partitions import describe_partitions
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.read_only import is_read_only, refuse_when_read_only

LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"
EXPECTED_MS = 800
_ALL = "*"


def lifted(value: str | None, partitions: frozenset[int], broker_id: int | None) -> str | None:
    """Return a list of throttled replicas (`0:1,0:4`) without those of some partitions; None: none left.

    `broker_id` None takes out all replicas of the partitions. The list `*` of all replicas ends as a whole.
    """
    kept = []
    for entry in (value or "").split(","):
        partition, colon, broker = entry.strip().partition(":")
        if not colon or not partition.isdecimal():
            continue
        is_out = int(partition) in partitions and broker_id in (None, int(broker))
        if not is_out:
            kept.append(entry.strip())
    return ",".join(kept) or None


def throttles(value: str | None, partition: int, broker_id: int) -> bool:
    """Say whether a list of throttled replicas names this one."""
    text = (value or "").strip()
    return text == _ALL or f"{partition}:{broker_id}" in {one.strip() for one in text.split(",")}


@dataclass(frozen=True, slots=True)
class HeldBackReplica:
    """Lets a topic's replicas on one broker into the ISR; see `Actor`. `within_s`: how long `act` waits."""

    connections: ClusterConnections
    topic: str
    broker_id: int
    within_s: float = 30.0

    def plan(self) -> Plan:
        """See `Actor.plan`."""
        return with_cluster(self.connections, self._plan)

    def act(self) -> Outcome:
        """See `Actor.act`; `undo` holds the lists of throttled replicas from before."""
        return with_cluster(self.connections, self._act)

    def verify(self) -> Verdict:
        """See `Actor.verify`."""
        return verify(self.connections, self._verify)

    def revert(self, undo: dict[str, Any]) -> Outcome:
        """Put the throttle back; the replica stays in the ISR until it is reassigned away or falls behind."""
        return with_cluster(self.connections, lambda cluster: self._revert(cluster, undo))

    @property
    def _subject(self) -> str:
        return f"topic {self.topic} on broker {self.broker_id}"

    @property
    def _resource(self) -> Resource:
        return Resource(ResourceType.TOPIC, self.topic)

    async def _look(
        self, cluster: RawCluster
    ) -> tuple[dict[str, ConfigValue], dict[TopicPartition, PartitionFacts]]:
        settings = await read_configs(cluster, self._resource, (LEADERS, FOLLOWERS))
        known = await describe_partitions(cluster, [self.topic])
        mine = [where for where, one in known.items() if self.broker_id in one.replicas]
        return settings, await read_partitions(cluster, mine)

    def _held(
        self, settings: Mapping[str, ConfigValue], facts: Mapping[TopicPartition, PartitionFacts]
    ) -> list[TopicPartition]:
        """Return the partitions whose replica is out of the ISR and named by a throttle."""
        followers = settings[FOLLOWERS].value if FOLLOWERS in settings else None
        leaders = settings[LEADERS].value if LEADERS in settings else None
        return [
            where
            for where, one in facts.items()
            if self.broker_id not in one.known.isr
            and (
                throttles(followers, where.partition, self.broker_id)
                or throttles(leaders, where.partition, one.known.leader or -1)
            )
        ]

    def _wanted(
        self, settings: Mapping[str, ConfigValue], held: list[TopicPartition]
    ) -> dict[str, str | None]:
        numbers = frozenset(where.partition for where in held)
        wanted = {
            FOLLOWERS: lifted(_own(settings, FOLLOWERS), numbers, self.broker_id),
            LEADERS: lifted(_own(settings, LEADERS), numbers, None),
        }
        return {name: value for name, value in wanted.items() if value != _own(settings, name)}

    def _command(self, wanted: Mapping[str, str | None]) -> str:
        deleted = ",".join(name for name, value in wanted.items() if value is None)
        added = ",".join(f"{name}=[{value}]" for name, value in wanted.items() if value is not None)
        words = ["--delete-config", deleted] if deleted else []
        words += ["--add-config", added] if added else []
        return self.connections.tools.alter_topic(self.topic, *words) if words else ""

    async def _plan(self, cluster: RawCluster) -> Plan:
        settings, facts = await self._look(cluster)
        held = self._held(settings, facts)
        wanted = self._wanted(settings, held)
        lag = [one.lag(self.broker_id) for where, one in facts.items() if where in held]
        return Plan(
            actor=ActorKind.HELD_BACK_REPLICA,
            cluster=self.connections.alias,
            subject=self._subject,
            requests=(
                PlannedRequest(
                    request="IncrementalAlterConfigs",
                    to="any broker",
                    sentence=f"Take {len(held)} replicas out of the throttled ones of {self.topic}.",
                    fields=dict(wanted),
                    command=self._command(wanted) or None,
                ),
            ),
            expected=f"Broker {self.broker_id} catches up and joins the ISR of {len(held)} partitions.",
            expected_ms=EXPECTED_MS,
            warnings=(
                "No revert: a replica in the ISR is never throttled. Reassign it away and back (full copy).",
                "Without the throttle the replica copies at full speed until it joins the ISR.",
            ),
            refusals=tuple(self._refusals(facts, held)),
            revert=self._command({name: _own(settings, name) for name in wanted}),
            evidence={
                "lag_records": [one for one in lag if one is not None],
                "partitions": [one.to_mapping() for one in facts.values()],
            },
        )

    def _refusals(
        self, facts: Mapping[TopicPartition, PartitionFacts], held: list[TopicPartition]
    ) -> list[str]:
        found = []
        if is_read_only():
            found.append("crosslog is read-only.")
        if not facts:
            found.append(f"Broker {self.broker_id} has no replica of {self.topic}.")
        elif not held:
            found.append(
                f"No throttle keeps a replica of {self.topic} on broker {self.broker_id} out."
            )
        return found

    async def _act(self, cluster: RawCluster) -> Outcome:
        refuse_when_read_only(cluster.alias, f"Lifting the throttle of {self.topic}")
        settings, facts = await self._look(cluster)
        held = self._held(settings, facts)
        refusals = self._refusals(facts, held)
        if refusals:
            return Outcome(
                ActorKind.HELD_BACK_REPLICA,
                self._subject,
                is_done=False,
                sentence=" ".join(refusals),
            )
        wanted = self._wanted(settings, held)
        watch = Stopwatch()
        await alter_configs(cluster, self._resource, wanted)

        async def seen() -> Verdict | None:
            verdict = await self._verify(cluster)
            return verdict if verdict.is_there else None

        verdict = await wait_for(seen, self.within_s) or await self._verify(cluster)
        return Outcome(
            actor=ActorKind.HELD_BACK_REPLICA,
            subject=self._subject,
            is_done=verdict.is_there,
            sentence=verdict.sentence,
            sent=(f"{len(held)} replicas were taken out of the throttled ones of {self.topic}.",),
            took_ms=watch.ms if verdict.is_there else None,
            undo={name: _own(settings, name) for name in wanted},
        )

    async def _verify(self, cluster: RawCluster) -> Verdict:
        known = await describe_partitions(cluster, [self.topic])
        mine = [one for one in known.values() if self.broker_id in one.replicas]
        out = [str(one.where) for one in mine if self.broker_id not in one.isr]
        sentence = (
            f"Broker {self.broker_id} is in the ISR of {len(mine) - len(out)} of its {len(mine)} partitions "
            f"of {self.topic}."
        )
        return Verdict(bool(mine) and not out, sentence, {"not_in_isr": out[:20]})

    async def _revert(self, cluster: RawCluster, undo: dict[str, Any]) -> Outcome:
        refuse_when_read_only(cluster.alias, f"Throttling {self.topic} again")
        wanted = {name: value for name, value in undo.items() if name in (LEADERS, FOLLOWERS)}
        watch = Stopwatch()
        await alter_configs(cluster, self._resource, wanted)

        async def back() -> bool | None:
            found = await read_configs(cluster, self._resource, tuple(wanted))
            return True if all(_own(found, n) == (v or None) for n, v in wanted.items()) else None

        is_back = bool(await wait_for(back, self.within_s))
        return Outcome(
            actor=ActorKind.HELD_BACK_REPLICA,
            subject=self._subject,
            is_done=is_back,
            sentence=f"The throttle is {'' if is_back else 'not '}back. The replica stays in the ISR until "
            "it is reassigned away.",
            sent=(f"The throttled replicas of {self.topic} are those of before.",),
            took_ms=watch.ms if is_back else None,
        )


def _own(settings: Mapping[str, ConfigValue], name: str) -> str | None:
    """Return a topic's own list; an empty one is none."""
    found = settings.get(name)
    return found.value or None if found is not None and found.is_override else None
