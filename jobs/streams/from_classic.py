"""An application of the classic protocol, from the bytes that its members exchanged.

Source: SubscriptionInfo, AssignmentInfo and StreamsPartitionAssignor of org.apache.kafka.streams.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.group_members import ClassicGroup, ClassicMember
from jobs.limits import may_exist, short
from jobs.streams.application import Route, TaskId, TasksByRole, Thread, process_in
from jobs.wire.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from jobs.wire.errors import RecordFormatError
from jobs.wire.streams_userdata import (
    LATEST_VERSION,
    NO_REBALANCE_MS,
    HostMaps,
    HostPartitions,
    SubscriptionInfo,
    Task,
    decode_assignment_info,
    decode_subscription_info,
)


@dataclass(frozen=True, slots=True)
class MembersSeen:
    """What the members of a group tell together; `tasks` has the source partitions of each task.

    `stateful` are the subtopologies that are known to have state. `routes` is None where no member
    carries any. `next_rebalance_ms` is the earliest that is planned, 0: at once, None: none.
    """

    threads: tuple[Thread, ...]
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
    stateful: frozenset[str]
    routes: tuple[Route, ...] | None
    next_rebalance_ms: int | None
    cautions: tuple[str, ...]


@dataclass(slots=True)
class _Gathered:
    """What one member after the other adds; `absent` is how many partitions were named that do not exist."""

    topic_partitions: Mapping[str, int]
    absent: int = 0
    known_maps: dict[tuple[int, bytes], HostMaps] = field(default_factory=dict)
    carried: Counter[HostMaps] = field(default_factory=Counter)
    partitions: dict[TaskId, set[TopicPartition]] = field(default_factory=lambda: defaultdict(set))
    next_rebalance_ms: list[int] = field(default_factory=list)

    def add(self, task: TaskId, places: Iterable[TopicPartition]) -> bool:
        """Add partitions of a task; False: all of them are none, and so is the task."""
        named = list(places)
        found = [one for one in named if may_exist(*one, self.topic_partitions)]
        self.absent += len(named) - len(found)
        if found or not named:
            self.partitions[task].update(found)
        return bool(found) or not named


def members_of(group: ClassicGroup, topic_partitions: Mapping[str, int]) -> MembersSeen:
    """Read all members; one whose bytes cannot be read has a `problem`, and the others are still read.

    `topic_partitions` are the topics that were seen: a task of partitions that do not exist is none.
    """
    gathered = _Gathered(topic_partitions)
    threads = [_thread(member, gathered) for member in group.members]
    planned = min(gathered.next_rebalance_ms, default=None)
    stateful = {
        task.subtopology for one in threads for task in (*one.offset_sums, *one.now.standby)
    }
    return MembersSeen(
        threads=tuple(_with_warm_ups(threads) if _is_probing(gathered) else threads),
        tasks={task: tuple(sorted(own)) for task, own in sorted(gathered.partitions.items())},
        stateful=frozenset(stateful),
        routes=_routes(gathered.carried),
        next_rebalance_ms=planned,
        cautions=tuple(_cautions(threads, gathered)),
    )


def _thread(member: ClassicMember, gathered: _Gathered) -> Thread:
    thread = Thread(
        member.member_id,
        member.client_id,
        member.client_host,
        process_id=process_in(member.client_id),
        instance_id=member.instance_id,
    )
    problems = []
    for read, content in ((_subscribed, member.metadata), (_assigned, member.assignment)):
        # Empty before a member has one, and the metadata of all while the group is not stable.
        if content:
            try:
                thread = read(thread, content, gathered)
            except RecordFormatError as error:
                problems.append(str(error))
    return replace(thread, problem="; ".join(problems) or None)


def _subscribed(thread: Thread, content: bytes, _: _Gathered) -> Thread:
    wants = decode_consumer_subscription(content)
    thread = replace(thread, rack=wants.rack or None)
    info = decode_subscription_info(wants.user_data)
    if info.is_future:
        return replace(thread, version=info.version, latest_version=info.latest_supported_version)
    return replace(
        thread,
        process_id=info.process_id,
        endpoint=info.user_endpoint,
        tags=info.client_tags or {},
        offset_sums=_sums(info),
        version=info.version,
        latest_version=info.latest_supported_version,
        joins=None if info.unique_field is None else info.unique_field % 256,
        error_code=thread.error_code or info.error_code or 0,
        subscription_error=info.error_code or 0,
    )


def _sums(info: SubscriptionInfo) -> dict[TaskId, int]:
    return {
        _task(Task(one.subtopology, one.partition, one.named_topology)): one.offset_sum
        for one in info.task_offset_sums
    }


def _assigned(thread: Thread, content: bytes, gathered: _Gathered) -> Thread:
    given = decode_consumer_assignment(content)
    if not given.user_data:
        return thread
    info = decode_assignment_info(given.user_data, gathered.known_maps)
    places = sorted(TopicPartition(*one) for one in given.assigned)
    if len(places) != len(info.active):
        raise RecordFormatError(
            "assignment user data", f"{len(info.active)} tasks for {len(places)} partitions"
        )
    named = zip(map(_task, info.active), places, strict=True)
    active = [task for task, place in named if gathered.add(task, [place])]
    copies = [(_task(copy), map(TopicPartition._make, own)) for copy, own in info.standby]
    standby = [task for task, own in copies if gathered.add(task, own)]
    gathered.carried[HostMaps(info.active_by_host, info.standby_by_host)] += 1
    if info.next_rebalance_ms not in (None, NO_REBALANCE_MS):
        gathered.next_rebalance_ms.append(info.next_rebalance_ms)
    return replace(
        thread,
        now=TasksByRole(tuple(sorted(set(active))), tuple(sorted(set(standby)))),
        common_version=info.commonly_supported_version,
        error_code=info.error_code or thread.error_code,
    )


def _task(task: Task) -> TaskId:
    name = f"{task.named_topology}__" if task.named_topology else ""
    return TaskId(short(f"{name}{task.subtopology}"), task.partition)


def _is_probing(gathered: _Gathered) -> bool:
    """Return whether a later rebalance is planned: 0 is one at once, to hand tasks over."""
    return any(one > 0 for one in gathered.next_rebalance_ms)


def _with_warm_ups(threads: Collection[Thread]) -> list[Thread]:
    """Tell warm-ups from standbys, which the assignment does not.

    They exist only while a probing rebalance is planned. How many standbys a task has by configuration is
    what most stateful tasks have; of those above that, the ones with the largest lag are warm-ups.
    """
    holders: dict[TaskId, list[Thread]] = defaultdict(list)
    for one in threads:
        for task in one.now.standby:
            holders[task].append(one)
    stateful = {task for one in threads for task in (*one.offset_sums, *one.now.standby)}
    running = {task for one in threads for task in one.now.active} & stateful
    counts = Counter(len(holders[task]) for task in running)
    usual = min(counts, key=lambda count: (-counts[count], count)) if counts else 0
    warm: dict[str, set[TaskId]] = defaultdict(set)
    for task, own in holders.items():
        behind = sorted(own, key=lambda one: (one.offset_sums.get(task, -1), one.member_id))
        for one in behind[: max(len(own) - usual, 0)]:
            warm[one.member_id].add(task)
    return [_moved(one, warm[one.member_id]) if warm[one.member_id] else one for one in threads]


def _moved(thread: Thread, warm: Collection[TaskId]) -> Thread:
    standby = tuple(task for task in thread.now.standby if task not in warm)
    return replace(thread, now=TasksByRole(thread.now.active, standby, tuple(sorted(warm))))


def _routes(carried: Counter[HostMaps]) -> tuple[Route, ...] | None:
    """Return the routing that most members carry; that of the others is older."""
    if not carried:
        return None
    maps = carried.most_common(1)[0][0]
    active, standby = _by_endpoint(maps.active_by_host), _by_endpoint(maps.standby_by_host)
    none: frozenset[TopicPartition] = frozenset()
    return tuple(
        Route(endpoint, active.get(endpoint, none), standby.get(endpoint, none))
        for endpoint in sorted(active.keys() | standby.keys())
    )


def _by_endpoint(hosts: Iterable[HostPartitions]) -> dict[str, frozenset[TopicPartition]]:
    return {
        f"{one.host}:{one.port}": frozenset(TopicPartition(*place) for place in one.partitions)
        for one in hosts
    }


def _cautions(threads: Collection[Thread], gathered: _Gathered) -> Iterable[str]:
    for one in threads:
        if one.problem is not None:
            yield f"Member {one.member_id}: {one.problem}."
        elif one.version is not None and one.version > LATEST_VERSION:
            yield (
                f"Member {one.member_id} writes user data of version {one.version}; crosslog knows "
                f"{LATEST_VERSION} and earlier ones."
            )
    if gathered.absent:
        yield f"Members name {gathered.absent:,} partitions that do not exist: these are left out."
    if len(gathered.carried) > 1:
        yield (
            f"Members carry {len(gathered.carried)} different routings: a rebalance is not finished, or "
            "somebody did not take part in the last one."
        )
