"""What changed from one voter set to the next; a replaced disk is recognised. Pure.

Kafka has no order for replacing a disk: the voter is removed with its old directory id and added with the new
one, in two records, because ids are unique in a set (KIP-853, KAFKA-16207).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet


@dataclass(frozen=True, slots=True)
class DiskSwap:
    """A voter that came back with another directory.

    `removed_at` is the offset of the set without it; None when one record removed and added it at once.
    """

    id: int
    old_directory_id: str | None
    new_directory_id: str | None
    removed_at: int | None

    def to_mapping(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "oldDirectoryId": self.old_directory_id,
            "newDirectoryId": self.new_directory_id,
            "removedAt": self.removed_at,
        }


@dataclass(frozen=True, slots=True)
class VoterChange:
    """What a set has that the one before it had not, and the other way round.

    `added` and `removed` are replicas; those of a replaced disk are among them. `replaced_disk` says which
    of the added are an earlier voter with another directory. `endpoints_changed` and `versions_changed` are
    ids of voters that stayed. `named` are ids whose directory was not known before: the step from a static
    quorum (kraft.version 0) to voters in the log changes no voter.
    """

    added: tuple[ReplicaKey, ...] = ()
    removed: tuple[ReplicaKey, ...] = ()
    replaced_disk: tuple[DiskSwap, ...] = ()
    endpoints_changed: tuple[int, ...] = ()
    versions_changed: tuple[int, ...] = ()
    named: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed: a new leader wrote the set again."""
        return self == VoterChange()

    @property
    def steps(self) -> int:
        """How many voters were added and removed; Kafka does one at a time."""
        return len(self.added) + len(self.removed)

    def to_mapping(self) -> dict[str, Any]:
        return {
            "added": [_key(key) for key in self.added],
            "removed": [_key(key) for key in self.removed],
            "replacedDisk": [swap.to_mapping() for swap in self.replaced_disk],
            "endpointsChanged": list(self.endpoints_changed),
            "versionsChanged": list(self.versions_changed),
            "named": list(self.named),
        }

    def __str__(self) -> str:
        return "; ".join(self._parts()) or "nothing changed"

    def _parts(self) -> Iterable[str]:
        swapped = {swap.id for swap in self.replaced_disk}
        together = swapped & {key.id for key in self.removed}
        yield from (f"disk of {swap.id} replaced" for swap in self.replaced_disk)
        yield from (f"added {key}" for key in self.added if key.id not in swapped)
        yield from (f"removed {key}" for key in self.removed if key.id not in together)
        yield from (f"endpoints of {id_} changed" for id_ in self.endpoints_changed)
        yield from (f"kraft.version range of {id_} changed" for id_ in self.versions_changed)
        if self.named:
            yield f"directory ids became known of {', '.join(map(str, self.named))}"


class Departures:
    """Which voters left and with which directory, so that one who comes back is recognised."""

    def __init__(self) -> None:
        self._gone: dict[int, tuple[str | None, int]] = {}

    def compare(self, before: VoterSet, after: VoterSet, offset: int) -> VoterChange:
        """Return what changed with the set at this offset, and remember who left.

        The first set of a history follows none: nothing changed.
        """
        if not before.voters:
            return VoterChange()
        change = compare_voters(before, after, self._gone)
        self._gone.update({key.id: (key.directory_id, offset) for key in change.removed})
        for key in change.added:
            self._gone.pop(key.id, None)
        return change


def compare_voters(
    before: VoterSet,
    after: VoterSet,
    gone: Mapping[int, tuple[str | None, int]] | None = None,
) -> VoterChange:
    """Return what changed between two sets; an id whose directory one side does not know has not changed.

    `gone`: by id, the directory with which a voter left earlier, and the offset of the set without it.
    """
    stayed = [pair for pair in _pairs(before, after) if _may_be_same(*pair)]
    ids = {one.id for one, _ in stayed}
    added = tuple(voter.key for voter in after if voter.id not in ids)
    removed = tuple(voter.key for voter in before if voter.id not in ids)
    known = [pair for pair in stayed if None not in {one.directory_id for one in pair}]
    return VoterChange(
        added=added,
        removed=removed,
        replaced_disk=tuple(_swaps(added, removed, gone or {})),
        endpoints_changed=tuple(o.id for v, o in known if v.endpoints != o.endpoints),
        versions_changed=tuple(o.id for v, o in known if _versions(v) != _versions(o)),
        named=tuple(o.id for v, o in stayed if v.directory_id is None and o.directory_id),
    )


def _pairs(before: VoterSet, after: VoterSet) -> Iterable[tuple[VoterNode, VoterNode]]:
    for voter in before:
        other = after.node(voter.id)
        if other is not None:
            yield voter, other


def _may_be_same(one: VoterNode, other: VoterNode) -> bool:
    return one.key == other.key or None in {one.directory_id, other.directory_id}


def _versions(voter: VoterNode) -> tuple[int, int]:
    return voter.min_kraft_version, voter.max_kraft_version


def _swaps(
    added: Iterable[ReplicaKey],
    removed: Iterable[ReplicaKey],
    gone: Mapping[int, tuple[str | None, int]],
) -> Iterable[DiskSwap]:
    at_once = {key.id: key.directory_id for key in removed}
    for key in added:
        if key.id in at_once:
            yield DiskSwap(key.id, at_once[key.id], key.directory_id, None)
        elif key.id in gone and gone[key.id][0] not in {None, key.directory_id}:
            old, removed_at = gone[key.id]
            yield DiskSwap(key.id, old, key.directory_id, removed_at)


def _key(key: ReplicaKey) -> dict[str, Any]:
    return {"id": key.id, "directoryId": key.directory_id}
