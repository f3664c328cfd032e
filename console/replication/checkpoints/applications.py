"""Whether the Kafka Streams applications of a flow's source could resume on its target, from stored rows.

All flows at once: the number of queries does not grow with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db.models import Q
from django.urls import reverse

from console.clusters.models import CollectionRound, Group, GroupOffset, Noun, Topic
from console.frame.pages.addresses import address_of
from console.frame.security.access import visible
from console.replication.checkpoints.models import GroupReadiness
from console.replication.control.conflicts import usable_flows
from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow
from console.streams import queries as streams
from jobs.limits import short
from jobs.replication.flow.selection import group_filter_of, policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.mirror_client import rename_topic
from jobs.severity import Severity
from jobs.streams.failover import (
    REPORTED_WITHIN_MS,
    WRITTEN_WITHIN_MS,
    Copied,
    Failover,
    FlowSide,
    Needs,
    Reason,
    TargetTopic,
    judge_failover,
)
from jobs.wire.topics.streams_topics import CLEANUP_POLICY, is_repartition, own_topics

STALE_S = 180
_GONE = "Gone"
_WORDS = {
    True: ("Ready", Severity.HEALTHY),
    False: ("Not ready", Severity.WARNING),
    None: ("Unknown", Severity.UNKNOWN),
}
_NOT_SEEN = Reason(
    "not_seen",
    "The application was never seen with its tasks.",
    "Look when it was last collected, and whether it has members.",
    is_unknown=True,
)
# By flow and group: when the row last changed, and what it has of checkpoints; in memory, for it is large.
_Proofs = tuple[int, dict[str, int], int | None]
_proofs: dict[int, tuple[datetime, _Proofs]] = {}
_MOST_PROOFS = 2000


@dataclass(frozen=True, slots=True)
class ApplicationAnswer:
    """The answer for one application in one flow; `has_group`: the flow selects its group.

    It is shown on a page of the flow, or else on that of the application.
    """

    flow: ReplicationFlow
    cluster: str
    application_id: str
    has_group: bool
    failover: Failover
    is_of_flow: bool = True
    READY: ClassVar = "topics, changelogs and offsets are on the target."

    @property
    def word(self) -> str:
        return _WORDS[self.failover.ready][0]

    @property
    def severity(self) -> Severity:
        return _WORDS[self.failover.ready][1]

    @property
    def named(self) -> str:
        """What follows is about: the application, or on its own page the flow."""
        target = f"Flow {self.flow.name}"
        return f"{self.application_id if self.is_of_flow else target}: "

    @property
    def href(self) -> str:
        if self.is_of_flow:
            return address_of("streams:detail", self.cluster, self.application_id)
        return reverse("replication:checkpoints", args=[self.flow.pk])

    def to_mapping(self) -> dict[str, Any]:
        """Return the answer as REST gives it."""
        return {
            "flow": self.flow.pk,
            "flow_name": self.flow.name,
            "cluster": self.cluster,
            "application_id": self.application_id,
            "is_group_selected": self.has_group,
            "ready": self.failover.ready,
            "reasons": [one._asdict() for one in self.failover.reasons],
        }


def answers_for_flows(
    flows: Iterable[ReplicationFlow], now: datetime, application_id: str | None = None
) -> dict[int, list[ApplicationAnswer]]:
    """Return the answers by flow, not ready first: of applications whose group or topics a flow selects."""
    rows = list(flows)
    found: dict[int, list[ApplicationAnswer]] = {row.pk: [] for row in rows}
    applications: dict[int, list[Any]] = defaultdict(list)
    sources = {row.source_id for row in rows}
    for one in streams.applications_of(sources).exclude(state=_GONE) if rows else ():
        if application_id in {None, one.application_id}:
            applications[one.cluster_id].append(one)
    if not applications:
        return found
    world = _World(rows, [one for own in applications.values() for one in own], now)
    for row in rows:
        spec = world.specs.get(row.pk)
        for one in applications[row.source_id] if spec else ():
            needs = world.needs.get(one.pk)
            side = world.side(row, spec, one, needs) if spec else None
            if side is None or not (side.has_group or side.remote):
                continue
            answer = judge_failover(needs, side) if needs else Failover(None, (_NOT_SEEN,))
            found[row.pk].append(
                ApplicationAnswer(row, row.source.alias, one.application_id, side.has_group, answer)
            )
        found[row.pk].sort(key=lambda one: (-one.severity.rank, one.application_id))
    return found


def answers_for_application(application: Any, user: Any, now: datetime) -> list[ApplicationAnswer]:
    """Return the answers for one application by flow, of the flows that a person may see."""
    flows = ReplicationFlow.objects.filter(source=application.cluster_id)
    shown = visible(user, flows.select_related("source", "target"))
    found = answers_for_flows(shown, now, application.application_id)
    return [replace(one, is_of_flow=False) for own in found.values() for one in own]


@dataclass
class _World:
    """The rows behind all answers, each kind read once."""

    flows: Sequence[ReplicationFlow]
    applications: Sequence[Any]
    now: datetime
    specs: dict[int, FlowSpec] = field(init=False)
    needs: dict[int, Needs] = field(init=False)

    def __post_init__(self) -> None:
        sources = {row.source_id for row in self.flows}
        # Topics may be copied by another flow of the same clusters.
        beside = ReplicationFlow.objects.filter(source__in=sources)
        usable = list(usable_flows(beside.select_related("source", "target")))
        self.specs = {row.pk: spec for row, spec in usable}
        self.pairs: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, _ in usable:
            self.pairs[row.source_id, row.target_id].append(row.pk)
        self.needs = streams.read_needs(self.applications)
        self._names = sorted({one.application_id for one in self.applications})
        self._selected: dict[tuple[int, str], str | None] = {}
        self._read_flows()
        self._read_targets()

    def _read_flows(self) -> None:
        ids = [row.pk for row in self.flows]
        topics = {topic for one in self.needs.values() for topic in _all_topics(one)}
        self.copied: dict[tuple[int, str], dict[int, Copied]] = defaultdict(dict)
        rows = FlowPartition.objects.filter(flow__in=ids, topic__in=topics).order_by()
        wanted = ("position", "log_start_offset", "end_offset", "lag")
        for pk, topic, number, *numbers in rows.values_list("flow", "topic", "partition", *wanted):
            self.copied[pk, topic][number] = Copied(*numbers)
        self.measured: dict[int, list[datetime | None]] = defaultdict(list)
        halves = FlowRound.objects.filter(flow__in=ids).exclude(noun=FlowRound.Noun.SYNCS)
        for pk, at, took_ms in halves.values_list("flow", "succeeded_at", "duration_ms"):
            begun = at and at - timedelta(milliseconds=took_ms or 0)
            self.measured[pk].append(begun)
        groups = [short(name) for name in self._names]
        answers = GroupReadiness.objects.filter(flow__in=ids, group__in=groups)
        keys = {row.pk: row for row in answers.only("flow", "group", "updated_at").order_by()}
        new = [pk for pk, row in keys.items() if _proofs.get(pk, (None,))[0] != row.updated_at]
        while len(_proofs) + len(new) > _MOST_PROOFS and _proofs:
            _proofs.pop(next(iter(_proofs), 0), None)
        read = {pk: kept[1] for pk in keys.keys() - set(new) if (kept := _proofs.get(pk))}
        missing = GroupReadiness.objects.filter(pk__in=keys.keys() - read.keys()).order_by()
        values = missing.values_list("pk", "group", "updated_at", "partitions")
        for pk, group, at, places in values.iterator(8):
            read[pk] = _proof_of(group, places)
            _proofs[pk] = at, read[pk]
        self.proofs = {(row.flow_id, row.group): read[pk] for pk, row in keys.items() if pk in read}

    def _read_targets(self) -> None:
        targets = {row.target_id for row in self.flows}
        named = Q(name__in={self._copy(row, t) for row in self.flows for t in self._topics(row)})
        mine = Q()
        for name in self._names:
            named |= Q(name__startswith=f"{name}-")
            mine |= Q(group_id=name) | Q(group_id__startswith=f"{name}-")
        self.topics: dict[int, dict[str, TargetTopic]] = defaultdict(dict)
        rows: Any = Topic.objects.filter(named, cluster__in=targets).order_by()
        for pk, name, count, settings in rows.values_list(
            "cluster", "name", "partition_count", "configs"
        ):
            self.topics[pk][name] = TargetTopic(count, str(settings.get(CLEANUP_POLICY) or ""))
        groups: Any = Group.objects.filter(mine, cluster__in=targets).order_by()
        self.groups: dict[int, dict[str, int | None]] = defaultdict(dict)
        for pk, group, members in groups.values_list("cluster", "group_id", "member_count"):
            self.groups[pk][group] = members
        self.used: dict[tuple[int, str], set[str]] = defaultdict(set)
        offsets: Any = GroupOffset.objects.filter(
            group__cluster__in=targets,
            group__group_id__in=self._names,
            committed_offset__isnull=False,
        ).order_by()
        for pk, group, topic in offsets.values_list(
            "group__cluster", "group__group_id", "topic"
        ).distinct():
            self.used[pk, group].add(topic)
        self.read_at: dict[tuple[int, str], datetime | None] = {}
        rounds: Any = CollectionRound.objects.filter(
            cluster__in=targets, noun__in=[Noun.TOPICS, Noun.GROUPS]
        )
        for pk, noun, at in rounds.values_list("cluster", "noun", "succeeded_at"):
            self.read_at[pk, noun] = at

    def _topics(self, row: ReplicationFlow) -> set[str]:
        return {
            topic
            for one in self.applications
            if one.cluster_id == row.source_id and one.pk in self.needs
            for topic in _all_topics(self.needs[one.pk])
        }

    def _copy(self, row: ReplicationFlow, topic: str) -> str:
        """Return the name of a topic's copy, empty where the flow does not select it."""
        return self._remote(row.pk, topic) or ""

    def _remote(self, pk: int, topic: str) -> str | None:
        spec = self.specs.get(pk)
        if (pk, topic) not in self._selected:
            is_selected = spec is not None and should_replicate(spec, topic)
            self._selected[pk, topic] = (
                rename_topic(
                    policy_of(spec),
                    topic,
                    source_alias=spec.source.alias,
                    target_alias=spec.target.alias,
                )
                if spec is not None and is_selected
                else None
            )
        return self._selected[pk, topic]

    def side(self, row: ReplicationFlow, spec: FlowSpec, one: Any, needs: Needs | None) -> FlowSide:
        """Return what a flow and its target show of an application."""
        topics, name, target = (
            _all_topics(needs) if needs else (),
            one.application_id,
            row.target_id,
        )
        remote = {t: copy for t in topics if (copy := self._remote(row.pk, t)) is not None}
        others = [pk for pk in self.pairs[row.source_id, target] if pk != row.pk]
        count, unproven, newest = self.proofs.get((row.pk, short(name)), (0, {}, None))
        there, groups = self.topics[target], self.groups[target]
        measured = [at for at in self.measured[row.pk] if at is not None]
        return FlowSide(
            row.target.alias,
            remote,
            group_filter_of(spec).accepts(name),
            frozenset(t for t in topics for pk in others if self._remote(pk, t) is not None),
            {t: self.copied[row.pk, t] for t in topics if (row.pk, t) in self.copied},
            int(min(measured).timestamp() * 1000) if measured else 0,
            count,
            unproven,
            newest,
            there,
            groups.get(name, 0),
            frozenset(self.used[target, name]),
            own_topics(name, groups, there),
            tuple(self._stale(row, one)),
            WRITTEN_WITHIN_MS if row.is_watched else REPORTED_WITHIN_MS,
        )

    def _stale(self, row: ReplicationFlow, one: Any) -> Iterable[str]:
        halves = self.measured[row.pk]
        if len(halves) < len(FlowRound.Noun) - 1 or any(self._is_old(at) for at in halves):
            yield f"Flow {row.name} was not measured in the last {STALE_S} s."
        for noun in (Noun.TOPICS, Noun.GROUPS):
            if self._is_old(self.read_at.get((row.target_id, noun))):
                yield f"The {noun.value} of {row.target.alias} were not read in the last {STALE_S} s."
        if one.problem or self._is_old(one.facts_at):
            yield f"The application was not seen with its tasks in the last {STALE_S} s."

    def _is_old(self, at: datetime | None) -> bool:
        return at is None or (self.now - at).total_seconds() > STALE_S


def _all_topics(needs: Needs) -> set[str]:
    return {*needs.sources, *needs.changelogs, *needs.repartitions}


def _proof_of(group: str, places: Iterable[Mapping[str, Any]]) -> _Proofs:
    """Return the number of checkpoints, commits without one by topic, and when the newest was written."""
    count, newest = 0, None
    unproven: dict[str, int] = defaultdict(int)
    for place in places:
        if is_repartition(group, place["topic"]):
            continue
        if place["upstream"] is not None:
            count += 1
            at_ms = place["checkpoint_at_ms"]
            newest = at_ms if newest is None else max(newest, at_ms)
        elif place["committed"] is not None:
            unproven[place["topic"]] += 1
    return count, dict(unproven), newest
