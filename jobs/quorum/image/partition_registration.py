"""One partition, and how records of the metadata log change it (Kafka's `PartitionRegistration`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

NO_LEADER = -1
LEADER_UNCHANGED = -2
RECOVERED, RECOVERING = 0, 1
_RECOVERY_UNCHANGED = -1
# Uuid(0, 0): where a replica lies is not known yet (Kafka's DirectoryId.MIGRATING).
MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"


@dataclass(frozen=True, slots=True)
class PartitionRegistration:
    """What the metadata log says of one partition.

    `leader` -1 means none. `replicas` are in order of preference; `adding` and `removing` are empty unless a
    reassignment is under way. `elr` are the eligible leader replicas (KIP-966), `recovery_state` is 1 while a
    leader of an unclean election recovers. `directories` are directory ids in the order of `replicas`.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovery_state: int = RECOVERED
    directories: tuple[str, ...] = ()

    @property
    def preferred_leader(self) -> int:
        """The first replica; -1 without any."""
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are being added or removed."""
        return bool(self.adding or self.removing)


def partition_from_record(data: Mapping[str, Any]) -> PartitionRegistration:
    """Return the state that a PartitionRecord holds: it replaces whatever was there.

    Raises KeyError or TypeError for a record without the fields that every version has.
    """
    replicas = tuple(data["replicas"])
    return PartitionRegistration(
        replicas=replicas,
        isr=tuple(data["isr"]),
        leader=int(data["leader"]),
        leader_epoch=int(data["leaderEpoch"]),
        partition_epoch=int(data["partitionEpoch"]),
        adding=_ids(data, "addingReplicas", ()),
        removing=_ids(data, "removingReplicas", ()),
        elr=_ids(data, "eligibleLeaderReplicas", ()),
        last_known_elr=_ids(data, "lastKnownElr", ()),
        recovery_state=int(data.get("leaderRecoveryState", RECOVERED)),
        directories=placed(data.get("directories"), len(replicas)),
    )


def merge(state: PartitionRegistration, data: Mapping[str, Any]) -> PartitionRegistration:
    """Return the state after a PartitionChangeRecord.

    A field that is absent or null stays as it was; an empty list is now empty. A leader other than -2 raises
    the leader epoch even where it is the old one (Kafka's way to bump it); the partition epoch always rises.
    """
    leader = data.get("leader", LEADER_UNCHANGED)
    is_kept = leader == LEADER_UNCHANGED
    recovery = data.get("leaderRecoveryState", _RECOVERY_UNCHANGED)
    replicas = _ids(data, "replicas", state.replicas)
    directories = data.get("directories")
    return PartitionRegistration(
        replicas=replicas,
        isr=_ids(data, "isr", state.isr),
        leader=state.leader if is_kept else leader,
        leader_epoch=state.leader_epoch if is_kept else state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        adding=_ids(data, "addingReplicas", state.adding),
        removing=_ids(data, "removingReplicas", state.removing),
        elr=_ids(data, "eligibleLeaderReplicas", state.elr),
        last_known_elr=_ids(data, "lastKnownElr", state.last_known_elr),
        recovery_state=state.recovery_state if recovery == _RECOVERY_UNCHANGED else recovery,
        directories=placed(
            state.directories if directories is None else directories, len(replicas)
        ),
    )


def clear_elr(state: PartitionRegistration) -> PartitionRegistration:
    """Return the state after a ClearElrRecord; the very same where there was nothing to clear."""
    if not state.elr and not state.last_known_elr:
        return state
    return replace(state, elr=(), last_known_elr=(), partition_epoch=state.partition_epoch + 1)


def placed(directories: Sequence[str] | None, replica_count: int) -> tuple[str, ...]:
    """Return directory ids as Kafka keeps them: where none is known, each replica's is migrating."""
    if not directories or all(one == MIGRATING for one in directories):
        return (MIGRATING,) * replica_count
    return tuple(directories)


# Kafka's names of the fields, in the order of its own diff text.
_NAMES = {
    "replicas": "replicas",
    "directories": "directories",
    "isr": "isr",
    "removing": "removingReplicas",
    "adding": "addingReplicas",
    "elr": "elr",
    "last_known_elr": "lastKnownElr",
    "leader": "leader",
    "recovery_state": "leaderRecoveryState",
    "leader_epoch": "leaderEpoch",
    "partition_epoch": "partitionEpoch",
}
_RECOVERY_NAMES = {RECOVERED: "RECOVERED", RECOVERING: "RECOVERING"}
assert set(_NAMES) == {field.name for field in fields(PartitionRegistration)}  # noqa: S101 - the two lists belong together


def differences(
    before: PartitionRegistration, after: PartitionRegistration
) -> Iterator[tuple[str, Any, Any]]:
    """Yield (Kafka's name of the field, before, after) for every field that differs."""
    for field, name in _NAMES.items():
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield name, old, new


def difference_text(before: PartitionRegistration, after: PartitionRegistration) -> str:
    """Return what differs in the words of Kafka's `PartitionRegistration.diff`: "isr: [1, 2] -> [3], ..."."""
    return ", ".join(
        f"{name}: {_text(name, old)} -> {_text(name, new)}"
        for name, old, new in differences(before, after)
    )


def _text(name: str, value: Any) -> str:
    if name == "leaderRecoveryState":
        return _RECOVERY_NAMES.get(value, str(value))
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _ids(data: Mapping[str, Any], name: str, absent: tuple[int, ...]) -> tuple[int, ...]:
    found = data.get(name)
    return absent if found is None else tuple(found)
