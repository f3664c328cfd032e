"""Clusters for tests: made by hand with few words, or by hypothesis."""

from collections.abc import Sequence

from hypothesis import strategies as st

from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.what_if.model.cluster import (
    BrokerModel,
    ClusterModel,
    ControllerModel,
    PartitionModel,
)
from jobs.availability.what_if.steps import Loss

RACKS = ("west", "east", "north")


def cluster(
    *partitions: PartitionModel,
    racks: dict[int, str | None] | None = None,
    standby: Sequence[int] = (),
    voters: Sequence[int] = (),
    **facts: bool,
) -> ClusterModel:
    """Return a cluster of brokers 1 and 2 in west, 3 and 4 in east, unless other racks are given."""
    racks = {1: "west", 2: "west", 3: "east", 4: "east"} if racks is None else racks
    return ClusterModel(
        brokers={
            id_: BrokerModel(id_, rack, is_standby=id_ in standby) for id_, rack in racks.items()
        },
        partitions=partitions,
        voters=tuple(ControllerModel(one, racks.get(one)) for one in voters),
        **facts,
    )


def partition(*replicas: int, topic: str = "orders", number: int = 0, **facts) -> PartitionModel:
    """Return a partition whose replicas are all in sync, but for observers."""
    observers = facts.get("observers", ())
    isr = facts.pop("isr", tuple(one for one in replicas if one not in observers))
    leader = facts.pop("leader", isr[0] if isr else None)
    return PartitionModel(topic, number, replicas, isr, leader, **facts)


def lose(*brokers: int, racks: Sequence[str] = (), controllers: Sequence[int] = ()) -> Loss:
    return Loss(frozenset(brokers), frozenset(racks), frozenset(controllers))


@st.composite
def partitions(draw: st.DrawFn, brokers: Sequence[int], number: int) -> PartitionModel:
    """Any partition that metadata can hold, with observers or without."""
    replicas = tuple(draw(st.permutations(brokers)))[: draw(st.integers(1, min(5, len(brokers))))]
    some = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    isr = draw(some)
    elr = tuple(one for one in draw(some) if one not in isr)
    observers = draw(some) if draw(st.booleans()) else ()
    return PartitionModel(
        topic=draw(st.sampled_from(["orders", "payments"])),
        partition=number,
        replicas=replicas,
        isr=isr,
        leader=draw(st.sampled_from([None, *isr])),
        observers=observers,
        elr=elr,
        last_known_elr=draw(some)[:2],
        min_insync_replicas=draw(st.sampled_from([None, 1, 2, 3, 4])),
        limits_min_isr=draw(st.sampled_from([True, False, None])),
        policy=draw(st.sampled_from([None, *PromotionPolicy])),
        is_unclean_allowed=draw(st.sampled_from([None, True, False])),
        sync_count=draw(st.sampled_from([None, 1, 2, 3])),
        lagging=draw(some) if draw(st.booleans()) else (),
        lag_records=draw(st.dictionaries(st.sampled_from(replicas), st.integers(0, 3))),
        is_acted_on=draw(st.booleans()),
        adding=draw(st.none() | some) if draw(st.booleans()) else (),
        removing=draw(some) if draw(st.booleans()) else (),
    )


@st.composite
def clusters(draw: st.DrawFn) -> ClusterModel:
    """Any cluster of up to seven brokers: plain or promoting by itself, some standby, some dead."""
    ids = draw(st.lists(st.integers(1, 9), min_size=1, max_size=7, unique=True))
    unknown = draw(st.sampled_from([[], [77]]))
    brokers = {
        id_: BrokerModel(
            id_,
            draw(st.sampled_from([*RACKS, None])),
            draw(st.sampled_from([True, True, True, False])),
            draw(st.sampled_from([True, False, False])),
        )
        for id_ in ids
    }
    voters = draw(st.lists(st.sampled_from([*ids, 101, 102]), unique=True, max_size=5))
    count = draw(st.integers(0, 6))
    return ClusterModel(
        brokers=brokers,
        partitions=tuple(draw(partitions([*ids, *unknown], number)) for number in range(count)),
        voters=tuple(
            ControllerModel(
                one,
                draw(st.sampled_from([*RACKS, None])),
                draw(st.sampled_from([True, True, None, False])),
            )
            for one in voters
        ),
        has_elr=draw(st.booleans()),
        promotes_itself=draw(st.booleans()),
    )


@st.composite
def losses(draw: st.DrawFn, of: ClusterModel) -> Loss:
    """A loss that is possible in a cluster; sometimes of nothing."""
    racks = {*of.racks.values(), *of.voter_racks().values()} - {None}
    voters = [one.node_id for one in of.voters]

    def some(values: Sequence[object]) -> frozenset:
        if not values:
            return frozenset()
        return draw(st.frozensets(st.sampled_from(values), max_size=3))

    return Loss(
        brokers=some(sorted(of.brokers)) if draw(st.booleans()) else frozenset(),
        racks=some(sorted(racks)) if draw(st.booleans()) else frozenset(),
        controllers=some(voters) if draw(st.booleans()) else frozenset(),
    )
