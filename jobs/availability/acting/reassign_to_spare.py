"""Actor (c): replicas of a broker that is gone are made on a spare one, and moved back later.

The whole log is copied before the spare counts: measured 10.8 s of producer outage for 200 MB, growing with
the data. Source: KIP-455.
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
from jobs.cluster.admin.brokers import RegisteredBroker, list_brokers
from jobs.cluster.admin.partitions import describe_partitions
from jobs.cluster.admin.reassignments import (
    Reassignment,
    alter_reassignments,
    list_reassignments,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.read_only import is_read_only, refuse_when_read_only

# 200 MB were copied in about two seconds on the machine of the measurement.
_BYTES_PER_MS = 100_000
_LEAST_MS = 500


def target_of(replicas: tuple[int, ...], replaced: int | None, spare: int) -> tuple[int, ...]:
    """Return the replicas with the spare in the place of the replaced one; without one, at the end."""
    if replaced is None:
        return (*replicas, spare)
    return tuple(spare if one == replaced else one for one in replicas)


@dataclass(frozen=True, slots=True)
class ReassignToSpare:
    """Moves partitions from one broker to a spare one; see `Actor`.

    `replaced` is the broker that is gone; None: the spare becomes one more replica. `within_s`: how long
    `act` and `revert` wait for the copies.
    """

    connections: ClusterConnections
    partitions: tuple[TopicPartition, ...]
    spare: int
    replaced: int | None = None
    within_s: float = 120.0

    def plan(self) -> Plan:
        """See `Actor.plan`."""
        return with_cluster(self.connections, self._plan)

    def act(self) -> Outcome:
        """See `Actor.act`; `undo` holds the replicas of before for each partition."""
        return with_cluster(self.connections, self._act)

    def verify(self) -> Verdict:
        """See `Actor.verify`."""
        return verify(self.connections, self._verify)

    def revert(self, undo: dict[str, Any]) -> Outcome:
        """Cancel what is in progress, else move the replicas back, which copies what the broker lacks."""
        return with_cluster(self.connections, lambda cluster: self._revert(cluster, undo))

    @property
    def _subject(self) -> str:
        return f"{len(self.partitions)} partitions to broker {self.spare}"

    async def _look(
        self, cluster: RawCluster
    ) -> tuple[
        dict[TopicPartition, PartitionFacts],
        dict[TopicPartition, Reassignment],
        dict[int, RegisteredBroker],
    ]:
        facts = await read_partitions(cluster, self.partitions)
        moving = await list_reassignments(cluster, self.partitions)
        return facts, moving, await list_brokers(cluster)

    async def _plan(self, cluster: RawCluster) -> Plan:
        facts, moving, brokers = await self._look(cluster)
        wanted = self._wanted(facts)
        size = sum(one.leader_size or 0 for one in facts.values())
        return Plan(
            actor=ActorKind.REASSIGN_TO_SPARE,
            cluster=self.connections.alias,
            subject=self._subject,
            requests=(
                PlannedRequest(
                    request="AlterPartitionReassignments",
                    to="any broker",
                    sentence=f"Make replicas of {len(wanted)} partitions on broker {self.spare}.",
                    fields={str(where): list(replicas) for where, replicas in wanted.items()},
                    command=self._command(wanted, "add-spare.json"),
                ),
            ),
            expected=f"{size} bytes are copied; then broker {self.spare} is in {len(wanted)} ISRs.",
            expected_ms=_LEAST_MS + size // _BYTES_PER_MS,
            warnings=(
                "Nothing is gained before everything is copied; that takes bandwidth from the producers.",
                "Other tools that move replicas (Cruise Control) may undo it.",
            ),
            refusals=tuple(self._refusals(facts, moving, brokers)),
            revert=self._command(
                {where: one.known.replicas for where, one in facts.items()}, "remove-spare.json"
            ),
            evidence={"bytes": size, "partitions": [one.to_mapping() for one in facts.values()]},
        )

    def _command(self, wanted: Mapping[TopicPartition, tuple[int, ...]], file: str) -> str:
        places = {(where.topic, where.partition): replicas for where, replicas in wanted.items()}
        return " && ".join(self.connections.tools.reassign(places, file))

    def _wanted(
        self, facts: Mapping[TopicPartition, PartitionFacts]
    ) -> dict[TopicPartition, tuple[int, ...]]:
        return {
            where: target_of(one.known.replicas, self.replaced, self.spare)
            for where, one in facts.items()
        }

    def _refusals(
        self,
        facts: Mapping[TopicPartition, PartitionFacts],
        moving: Mapping[TopicPartition, Reassignment],
        brokers: Mapping[int, RegisteredBroker],
    ) -> list[str]:
        found = []
        if is_read_only():
            found.append("crosslog is read-only.")
        found += [f"{where} does not exist." for where in self.partitions if where not in facts]
        spare = brokers.get(self.spare)
        if spare is None or spare.is_fenced:
            found.append(f"Broker {self.spare} is not there, or is fenced: it cannot join an ISR.")
        found += [f"{where} is being moved already." for where in moving]
        for where, one in facts.items():
            if self.spare in one.known.replicas:
                found.append(f"Broker {self.spare} has a replica of {where} already.")
            if self.replaced is not None and self.replaced not in one.known.replicas:
                found.append(f"Broker {self.replaced} has no replica of {where}.")
            if one.known.leader is None:
                found.append(f"{where} has no leader: no replica to copy from.")
        return found

    async def _act(self, cluster: RawCluster) -> Outcome:
        refuse_when_read_only(cluster.alias, "Moving replicas")
        facts, moving, brokers = await self._look(cluster)
        refusals = self._refusals(facts, moving, brokers)
        if refusals:
            return self._outcome(" ".join(refusals))
        watch = Stopwatch()
        faults = await alter_reassignments(cluster, self._wanted(facts))
        refused = [fault.message for fault in faults.values() if fault is not None]
        undo = {
            "replicas": {
                str(where): [where.topic, where.partition, list(one.known.replicas)]
                for where, one in facts.items()
                if faults.get(where) is None
            }
        }
        if refused:
            return self._outcome(" ".join(refused), undo=undo)

        async def seen() -> Verdict | None:
            verdict = await self._verify(cluster)
            return verdict if verdict.is_there else None

        verdict = await wait_for(seen, self.within_s) or await self._verify(cluster)
        sent = (f"Replicas of {len(facts)} partitions are made on broker {self.spare}.",)
        took_ms = watch.ms if verdict.is_there else None
        return self._outcome(
            verdict.sentence, is_done=verdict.is_there, sent=sent, took_ms=took_ms, undo=undo
        )

    async def _verify(self, cluster: RawCluster) -> Verdict:
        known = await describe_partitions(cluster, {where.topic for where in self.partitions})
        out = [
            str(where)
            for where in self.partitions
            if where not in known or self.spare not in known[where].isr
        ]
        total = len(self.partitions)
        sentence = f"Broker {self.spare} is in the ISR of {total - len(out)} of {total} partitions."
        return Verdict(not out, sentence, {"not_in_isr": out[:20]})

    async def _revert(self, cluster: RawCluster, undo: dict[str, Any]) -> Outcome:
        refuse_when_read_only(cluster.alias, "Moving replicas back")
        before = {
            TopicPartition(topic, partition): tuple(replicas)
            for topic, partition, replicas in undo.get("replicas", {}).values()
        }
        watch = Stopwatch()
        sent = await self._cancel(cluster, before)
        gone = await self._gone(cluster, before)
        if gone:
            return self._outcome(
                f"Broker {', '.join(map(str, gone))} is not back: its replicas stay where they are.",
                sent=sent,
            )
        known = await describe_partitions(cluster, {where.topic for where in before})
        wanted = {
            where: replicas
            for where, replicas in before.items()
            if where in known and known[where].replicas != replicas
        }
        if wanted:
            faults = await alter_reassignments(cluster, wanted)
            refused = [fault.message for fault in faults.values() if fault is not None]
            if refused:
                return self._outcome(" ".join(refused), sent=sent)
            sent += (f"{len(wanted)} partitions are moved back.",)

        async def back() -> bool | None:
            moving = await list_reassignments(cluster, list(before))
            found = await describe_partitions(cluster, {where.topic for where in before})
            is_back = all(
                found[w].replicas == replicas for w, replicas in before.items() if w in found
            )
            return True if is_back and not moving else None

        is_done = bool(await wait_for(back, self.within_s))
        words = "have their replicas of before" if is_done else "are still being moved back"
        return self._outcome(
            f"{len(before)} partitions {words}.",
            is_done=is_done,
            sent=sent,
            took_ms=watch.ms if is_done else None,
        )

    async def _cancel(
        self, cluster: RawCluster, before: Mapping[TopicPartition, tuple[int, ...]]
    ) -> tuple[str, ...]:
        """Cancel what is still in progress, which costs nothing."""
        moving = await list_reassignments(cluster, list(before))
        if not moving:
            return ()
        await alter_reassignments(cluster, dict.fromkeys(moving))
        return (f"{len(moving)} moves in progress were cancelled.",)

    async def _gone(
        self, cluster: RawCluster, before: Mapping[TopicPartition, tuple[int, ...]]
    ) -> list[int]:
        """Return the brokers of before that are not back; nothing can be copied to them."""
        known = await describe_partitions(cluster, {where.topic for where in before})
        brokers = await list_brokers(cluster)
        needed = {
            number
            for where, replicas in before.items()
            if where in known
            for number in set(replicas) - set(known[where].replicas)
        }
        return sorted(n for n in needed if n not in brokers or brokers[n].is_fenced)

    def _outcome(self, sentence: str, *, is_done: bool = False, **more: Any) -> Outcome:
        return Outcome(ActorKind.REASSIGN_TO_SPARE, self._subject, is_done, sentence, **more)
