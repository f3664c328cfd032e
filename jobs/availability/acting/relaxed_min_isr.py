"""Actor (d): min.insync.replicas of a topic lowered for a while, its stall ended, and put back later.

Measured on Kafka 4.3.1: without a second connection producers wait 30 s more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
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
from jobs.availability.status.severity import effective_min_isr
from jobs.cluster.admin.configs import (
    ConfigValue,
    Resource,
    ResourceType,
    alter_configs,
    read_configs,
)
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.capabilities.reader import ask_versions
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transactions import add_partitions_to_txn, end_txn, init_producer_id
from jobs.cluster.read_only import is_read_only, refuse_when_read_only

MIN_ISR = "min.insync.replicas"
Asked = Callable[[PartitionReplicas], int]
EXPECTED_MS = 1_000
_TRANSACTION_MS = 10_000
_BUDGET_S = 10.0
_WARNINGS = (
    "Records acknowledged meanwhile are on fewer replicas.",
    "Pending produce requests wait for up to 30 s; an empty, aborted transaction is appended to end that "
    "(one offset per partition, no visible record).",
    "With eligible leader replicas (KIP-966) the change clears the ELR of this topic.",
)


@dataclass(frozen=True, slots=True)
class RelaxMinIsr:
    """Lowers min.insync.replicas of one topic to `to`; see `Actor`.

    `ends_stall` False leaves waiting producers to their timeout. `within_s`: how long `act` waits for its
    effect.
    """

    connections: ClusterConnections
    topic: str
    to: int
    ends_stall: bool = True
    within_s: float = 15.0

    def plan(self) -> Plan:
        """See `Actor.plan`."""
        return with_cluster(self.connections, self._plan)

    def act(self) -> Outcome:
        """See `Actor.act`; `undo` holds the topic's own setting from before, null for none."""
        return with_cluster(self.connections, self._act)

    def verify(self) -> Verdict:
        """See `Actor.verify`: whether every partition with a large enough ISR takes records."""
        return verify(self.connections, self._verify)

    def revert(self, undo: dict[str, Any]) -> Outcome:
        """See `Actor.revert`; partitions whose ISR is still too small stop taking records at once."""
        return with_cluster(self.connections, lambda cluster: self._revert(cluster, undo))

    @property
    def _resource(self) -> Resource:
        return Resource(ResourceType.TOPIC, self.topic)

    @property
    def _subject(self) -> str:
        return f"topic {self.topic}"

    async def _plan(self, cluster: RawCluster) -> Plan:
        setting, facts = await self._look(cluster)
        now = _number(setting)
        stuck = self._stuck(facts, await _asked(cluster, now))
        return Plan(
            actor=ActorKind.RELAX_MIN_ISR,
            cluster=self.connections.alias,
            subject=self._subject,
            requests=self._requests(stuck),
            expected=f"{len(stuck)} of {len(facts)} partitions take records again.",
            expected_ms=EXPECTED_MS if self.ends_stall else 30_000,
            warnings=_WARNINGS,
            refusals=tuple(self._refusals(now, facts, stuck)),
            revert=self._command(now if setting.is_override else None),
            evidence={
                "min_insync_replicas": now,
                "is_own": setting.is_override,
                "partitions": [one.to_mapping() for one in facts.values()],
            },
        )

    def _command(self, value: int | None) -> str:
        gone, given = ("--delete-config", MIN_ISR), ("--add-config", f"{MIN_ISR}={value}")
        return self.connections.tools.alter_topic(self.topic, *(gone if value is None else given))

    def _requests(self, stuck: list[TopicPartition]) -> tuple[PlannedRequest, ...]:
        change = PlannedRequest(
            request="IncrementalAlterConfigs",
            to="any broker",
            sentence=f"Set {MIN_ISR} of {self.topic} to {self.to}.",
            fields={"topic": self.topic, MIN_ISR: str(self.to)},
            command=self._command(self.to),
        )
        if not self.ends_stall or not stuck:
            return (change,)
        end = PlannedRequest(
            request="AddPartitionsToTxn, EndTxn (abort)",
            to="the transaction coordinator",
            sentence=f"Append an empty, aborted transaction to {len(stuck)} partitions: no stall.",
            fields={"partitions": [str(where) for where in stuck]},
        )
        return (change, end)

    def _refusals(
        self, now: int, facts: Mapping[TopicPartition, PartitionFacts], stuck: list[TopicPartition]
    ) -> list[str]:
        found = []
        if is_read_only():
            found.append("crosslog is read-only.")
        if not 1 <= self.to < now:
            found.append(
                f"{MIN_ISR} is {now}: it can be lowered to 1 to {now - 1}, not to {self.to}."
            )
        elif not stuck:
            found.append(
                f"No partition of {self.topic} would take records by it that does not take them now."
            )
        if not facts:
            found.append(f"{self.topic} has no partitions.")
        return found

    def _stuck(
        self, facts: Mapping[TopicPartition, PartitionFacts], asked: Asked
    ) -> list[TopicPartition]:
        """Return the partitions that refuse records now and would not with the lower setting."""
        return [
            where
            for where, one in facts.items()
            if one.known.leader is not None and self.to <= len(one.known.isr) < asked(one.known)
        ]

    async def _look(
        self, cluster: RawCluster
    ) -> tuple[ConfigValue, dict[TopicPartition, PartitionFacts]]:
        known = await describe_partitions(cluster, [self.topic])
        settings = await read_configs(cluster, self._resource, (MIN_ISR,))
        return settings[MIN_ISR], await read_partitions(cluster, list(known))

    async def _act(self, cluster: RawCluster) -> Outcome:
        refuse_when_read_only(cluster.alias, f"Lowering {MIN_ISR} of {self.topic}")
        setting, facts = await self._look(cluster)
        now = _number(setting)
        stuck = self._stuck(facts, await _asked(cluster, now))
        refusals = self._refusals(now, facts, stuck)
        if refusals:
            return Outcome(
                ActorKind.RELAX_MIN_ISR, self._subject, is_done=False, sentence=" ".join(refusals)
            )
        watch = Stopwatch()
        await alter_configs(cluster, self._resource, {MIN_ISR: str(self.to)})
        sent = [f"{MIN_ISR} of {self.topic} was set to {self.to}."]
        verdict = await self._end(cluster, stuck, sent)
        return Outcome(
            actor=ActorKind.RELAX_MIN_ISR,
            subject=self._subject,
            is_done=verdict.is_there,
            sentence=verdict.sentence,
            sent=tuple(sent),
            took_ms=watch.ms if verdict.is_there else None,
            undo={MIN_ISR: setting.value if setting.is_override else None, "effective": now},
        )

    async def _end(
        self, cluster: RawCluster, stuck: list[TopicPartition], sent: list[str]
    ) -> Verdict:
        """End the stall and wait until every high watermark has reached the end of its log."""
        if self.ends_stall:
            try:
                await end_stall(cluster, stuck)
                sent.append(
                    f"An empty, aborted transaction was appended to {len(stuck)} partitions."
                )
            except ClusterFault as fault:
                sent.append(f"The stall was not ended: {fault.message} {fault.hint}")

        async def seen() -> Verdict | None:
            verdict = await self._moves(cluster, stuck)
            return verdict if verdict.is_there else None

        return await wait_for(seen, self.within_s) or await self._moves(cluster, stuck)

    async def _moves(self, cluster: RawCluster, stuck: list[TopicPartition]) -> Verdict:
        """Say whether nothing waits any more; under load the two ends are never quite the same."""
        before = await read_partitions(cluster, stuck)
        after = await read_partitions(cluster, stuck)
        still = [
            where for where, one in after.items() if not _has_moved(before.get(where, one), one)
        ]
        sentence = f"{len(stuck) - len(still)} of {len(stuck)} partitions take records again."
        return Verdict(not still, sentence, {"waiting": [str(where) for where in still]})

    async def _verify(self, cluster: RawCluster) -> Verdict:
        setting, facts = await self._look(cluster)
        now = _number(setting)
        asked = await _asked(cluster, now)
        small = [str(w) for w, one in facts.items() if len(one.known.isr) < asked(one.known)]
        sentence = f"{MIN_ISR} of {self.topic} is {now}, {len(small)} of {len(facts)} partitions are below."
        return Verdict(now == self.to and not small, sentence, {MIN_ISR: now, "below": small[:20]})

    async def _revert(self, cluster: RawCluster, undo: dict[str, Any]) -> Outcome:
        refuse_when_read_only(cluster.alias, f"Putting {MIN_ISR} of {self.topic} back")
        watch = Stopwatch()
        before = undo.get(MIN_ISR)
        await alter_configs(cluster, self._resource, {MIN_ISR: before})
        wanted = str(before if before is not None else undo["effective"])

        async def back() -> bool | None:
            found = await read_configs(cluster, self._resource, (MIN_ISR,))
            return True if found[MIN_ISR].value == wanted else None

        is_back = bool(await wait_for(back, self.within_s))
        return Outcome(
            actor=ActorKind.RELAX_MIN_ISR,
            subject=self._subject,
            is_done=is_back,
            sentence=f"{MIN_ISR} of {self.topic} is {wanted if is_back else 'not back'} again.",
            sent=(
                f"{MIN_ISR} of {self.topic} was {'removed' if before is None else f'set to {before}'}.",
            ),
            took_ms=watch.ms if is_back else None,
        )


def _has_moved(before: PartitionFacts, after: PartitionFacts) -> bool:
    if after.high_watermark is None or after.leader_end is None:
        return False
    is_even = after.high_watermark >= after.leader_end
    return is_even or (before.high_watermark or 0) < after.high_watermark


async def _asked(cluster: RawCluster, least: int) -> Asked:
    """Return how many in-sync replicas a partition's leader asks for; not known: as the newest Kafka does."""
    is_limited = (await ask_versions(cluster)).limits_min_isr is not False
    return lambda one: effective_min_isr(least, len(one.replicas), is_limited=is_limited) or least


def _number(setting: ConfigValue) -> int:
    return int(setting.value or 1)


async def end_stall(cluster: RawCluster, partitions: Collection[TopicPartition]) -> None:
    """Append an empty, aborted transaction to each of these partitions, from a connection of its own.

    Nothing else moves the high watermark for up to 30 s after min.insync.replicas was lowered: a produce
    request with acks=all that waits keeps its connection to itself, and the new setting alone makes no broker
    look at the high watermark again; the next thing that is appended does (measured). Consumers never see
    the marker of a transaction that is aborted and has no records; it takes one offset.

    Needs WRITE on the topics and on the transactional ids `crosslog-stall-*`, and that `__transaction_state`
    can be written. Raises `ClusterFault`, `ReadOnly`.
    Source: KIP-98 (control batches); kafka.cluster.Partition.maybeIncrementLeaderHW.
    """
    if not partitions:
        return
    refuse_when_read_only(cluster.alias, "Ending the stall")
    name = f"crosslog-stall-{uuid.uuid4().hex[:12]}"
    identity = await init_producer_id(
        cluster, name, transaction_timeout_ms=_TRANSACTION_MS, budget_s=_BUDGET_S
    )
    await add_partitions_to_txn(cluster, name, identity, partitions, budget_s=_BUDGET_S)
    await end_txn(cluster, name, identity, commit=False, budget_s=_BUDGET_S)
