"""A flow that copies with two seconds of lag, groups that commit, and every round of the console around it.

The clusters are functions of time: each question to them takes a while, and is answered as of its end. Rows
are written by the rounds themselves, at the times at which the clock of the workers starts them.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from console.clusters.collection import collect as cluster_rounds
from console.clusters.models import CollectionRound, Noun
from console.replication.checkpoints.rounds.collect import (
    CHECKPOINTS,
    CheckpointQueries,
    collect_readiness,
)
from console.replication.flows.models import FlowReadiness, ReplicationFlow
from console.replication.measurement.collect import MEASUREMENTS, FlowQueries, collect_flow
from console.runs.models import Run
from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.rules import CheckpointOffsets, decide
from jobs.replication.checkpoints.topic import GroupPartition
from jobs.replication.translation.sync_history import Facts
from jobs.replication.translation.translator import SourceEnd, Translator
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.making import NOW, make_flow, make_run, partition_row, progress

RATE = 130  # records a second and partition
TRANSACTION_S = 0.5
TICK_S = 5
FACTS = Facts(is_same_topic=True, all_changes_told=True)
HERE = [TopicPartition("orders", number) for number in range(3)]
COPIES = {where: TopicPartition("east.orders", where.partition) for where in HERE}
# How far behind the source's end each group commits, in seconds; None: it rests at its offset.
GROUPS = {"at the end": 0.05, "with the copy": 2.0, "slow": 45.0, "idle": None}
NOT_SYNCED = {"with the copy"}
IDLE_AT = 10_050
WENT_BACK_TO = 10_100


@dataclass
class Clusters:
    """Both clusters at any time (seconds since the start), and what a test does to them."""

    stopped_at: float = math.inf
    checkpoints_end_at: float = math.inf
    went_back_at: float = math.inf
    set_ahead_at: float = math.inf
    members_at: float = math.inf
    restarts: tuple[tuple[float, float], ...] = ()
    told: list[tuple[float, dict]] = field(default_factory=list)
    driver: Translator = field(default_factory=lambda: Translator(facts=FACTS))
    driver_at: int = 0

    def end(self, t: float) -> int:
        return 10_000 + int(RATE * t)

    def copied(self, t: float) -> tuple[int, int, int]:
        """Return the flow's position, the end of the copy, and how many transactions were committed."""
        number = max(int((min(t, self.stopped_at) - 1.5) / TRANSACTION_S), 0)
        position = self.end(number * TRANSACTION_S)
        return position, position + 400 + number, number

    def sync(self, number: int) -> tuple[int, int]:
        """Return the offset sync of a transaction: its first record, and where it went."""
        first = self.end((number - 1) * TRANSACTION_S)
        return first, first + 400 + number - 1

    def add_syncs(self, translator: Translator, known: int, t: float) -> int:
        newest = self.copied(t)[2]
        for number in range(known + 1, newest + 1):
            for where in HERE:
                translator.add(where, *self.sync(number))
        return newest

    def committed(self, group: str, t: float) -> int:
        behind_s = GROUPS[group]
        if behind_s is None:
            return IDLE_AT
        if group == "at the end" and t >= self.went_back_at:
            return WENT_BACK_TO
        return self.end(max(t - t % 0.7 - behind_s, 0))

    def checkpoints(self, t: float) -> dict[GroupPartition, SeenCheckpoint]:
        """Return the checkpoints that the flow has written: every two seconds, by its own rules."""
        at = self.told[-1][0] + 2.0 if self.told else 0.0
        while at + 0.2 <= min(t, self.checkpoints_end_at):
            self.told.append((at, self._round(at, self.told[-1][1] if self.told else {})))
            at += 2.0
        return self.told[bisect_right(self.told, t - 0.2, key=lambda one: one[0]) - 1][1]

    def synced(self, group: str, where: TopicPartition, t: float) -> int:
        """Return the group's offset on the target: set with every fifth round of checkpoints."""
        at = t - 0.3 - (t - 0.3) % 10
        offset = self.checkpoints(max(at, 1.0))[GroupPartition(group, COPIES[where])].downstream
        is_ahead = t >= self.set_ahead_at and group == "idle"
        return self.copied(self.set_ahead_at)[1] if is_ahead else offset

    def _round(self, t: float, before: dict) -> dict:
        position, copy_end, _ = self.copied(t)
        self.driver_at = self.add_syncs(self.driver, self.driver_at, t)
        found = dict(before)
        for group in GROUPS:
            for where, copy in COPIES.items():
                upstream, key = self.committed(group, t), GroupPartition(group, copy)
                end = SourceEnd(self.end(t), copy_end, position)
                proof = self.driver.translate(where, upstream, end=end)
                kept = before.get(key)
                previous = (
                    None if kept is None else CheckpointOffsets(kept.upstream, kept.downstream)
                )
                decision = decide(upstream, proof, OffsetRange(0, copy_end, copy_end), previous)
                if decision.is_written:
                    found[key] = SeenCheckpoint(*decision.told, at_ms=_ms(t))
        return found


class Side(FakeKafka):
    """One of the clusters, as the collection of clusters asks it."""

    def __init__(self, simulation: Simulation, *, is_source: bool) -> None:
        super().__init__()
        self.cluster_id = "source" if is_source else "target"
        self.simulation, self.is_source = simulation, is_source
        self.name = "orders" if is_source else "east.orders"
        self.add_topic(self.name)

    def _ask(self, question):
        t, of = self.simulation.spend(0.05), self.simulation.clusters
        for where in HERE:
            end = of.end(t) if self.is_source else of.copied(t)[1]
            self.set_range(self.name, where.partition, 0, end, _ms(t))
        for group in GROUPS:
            offsets = {
                (self.name, where.partition): of.committed(group, t)
                if self.is_source
                else of.synced(group, where, t)
                for where in HERE
                if self.is_source or group not in NOT_SYNCED
            }
            members = int(self.is_source and group != "idle")
            if group == "idle" and not self.is_source:
                members = int(t >= of.members_at)
            state = "Stable" if members else "Empty"
            self.add_group(group, offsets, member_count=members, state=state)
        super()._ask(question)


class Simulation:
    """The rounds of an hour; `answers` are (second, what counts) after every round of checkpoints."""

    def __init__(self, seed: int = 1, **clusters) -> None:
        self.random = random.Random(seed)
        self.clusters = Clusters(**clusters)
        self.now_s = 0.0
        self.archive, self.archive_at = Translator(facts=FACTS), 0
        self.sides = [Side(self, is_source=True), Side(self, is_source=False)]
        self.flow = make_flow(groups=[".*"], emit_checkpoints_interval_s=2)
        self.run = make_run(self.flow, progress={}, reported_at=NOW)
        self.answers: list[tuple[float, str]] = []
        # Topics and brokers do not change here.
        later = _moment(10 * 3600)
        for cluster in (self.flow.source, self.flow.target):
            for noun in (Noun.BROKERS, Noun.TOPICS, Noun.OFFSETS):
                CollectionRound.objects.create(cluster=cluster, noun=noun, claimed_until=later)

    def spend(self, most_s: float = 0.4) -> float:
        """Let the time pass that a question takes, and return when it is answered."""
        self.now_s += self.random.uniform(0.01, most_s)
        return self.now_s

    def clock(self) -> datetime:
        return _moment(self.now_s)

    def go(self, until_s: float, start_s: float = 60.0) -> list[tuple[float, str]]:
        """Let the clock of the workers tick; returns what counts after each round of checkpoints."""
        for tick in range(int(start_s), int(until_s), TICK_S):
            tasks = [self._clusters, self._flow, self._checkpoints]
            for task in tasks if tick == start_s else self.random.sample(tasks, 3):
                # Every task has a worker of its own: none waits for the one before it.
                self.now_s = tick + self.random.uniform(0, 0.2)
                task()
        return self.answers

    def _clusters(self) -> None:
        due = cluster_rounds.due_clusters(self.clock())
        at = self.now_s
        for cluster, side in zip((self.flow.source, self.flow.target), self.sides, strict=True):
            self.now_s = at
            if cluster.pk in due:
                cluster_rounds.collect_cluster(cluster.pk, self.clock, side.open)

    def _flow(self) -> None:
        # The run reports once a second.
        position = self.clusters.copied(self.now_s - self.now_s % 1)[0]
        copied_s = (position - self.clusters.end(0)) / RATE
        rows = [
            partition_row(partition=w.partition, position=position, last_timestamp_ms=_ms(copied_s))
            for w in HERE
        ]
        Run.objects.filter(pk=self.run.pk).update(progress=progress(*rows, at=self.clock()))
        now = self.clock()
        if self.flow.pk in MEASUREMENTS.due(now):
            queries = FlowQueries(
                ranges=self.ranges,
                newest=self.ranges,
                timestamps=self.timestamps,
                last_timestamps=self.last_timestamps,
                data_ends=self.data_ends,
            )
            collect_flow(self.flow.pk, lambda: now, queries)

    def _checkpoints(self) -> None:
        now = self.clock()
        if self.flow.pk in CHECKPOINTS.due(now):
            queries = CheckpointQueries(self.checkpoints, self.commits, self.ends, self.translator)
            assert collect_readiness(self.flow.pk, lambda: now, queries)
            answer = FlowReadiness.objects.get(flow=self.flow)
            assert answer.error == ""
            self.answers.append((self.now_s, answer.readiness))

    def translator(self, _flow: ReplicationFlow) -> Translator:
        """The follower's archive: at most two seconds old."""
        age = self.random.uniform(0, 2)
        self.archive_at = max(
            self.archive_at,
            self.clusters.add_syncs(self.archive, self.archive_at, self.now_s - age),
        )
        return self.archive

    # --- what the round of checkpoints asks ---

    def checkpoints(self, spec, before):
        return CheckpointsRead(dict(self.clusters.checkpoints(self.spend())), 7, "topic-id")

    def commits(self, spec, groups):
        t = self.spend()
        return {
            group: {w: CommittedOffset(self.clusters.committed(group, t)) for w in HERE}
            for group in groups
        }

    def ends(self, spec, remote):
        there = self.clusters.copied(self.spend())[1]
        here = self.clusters.end(self.spend())
        return {where: SourceEnd(here, there) for where in remote}

    # --- what the round of the flow asks ---

    def ranges(self, spec, partitions):
        t = self.spend()
        away = any(begin <= t < end for begin, end in self.clusters.restarts)
        known = OffsetRange(0, self.clusters.end(t), self.clusters.end(t), _ms(t))
        gone = OffsetRange(error="Leader not available")
        return {w: gone if away and w.partition == 0 else known for w in partitions}

    def last_timestamps(self, spec, ends):
        self.spend()
        return {where: _ms((end - self.clusters.end(0)) / RATE) for where, end in ends.items()}

    def data_ends(self, spec, spans):
        return {}

    def timestamps(self, spec, offsets_of):
        return {}


def _ms(t: float) -> int:
    return int(_moment(t).timestamp() * 1000)


def _moment(t: float) -> datetime:
    return NOW + timedelta(seconds=t)
