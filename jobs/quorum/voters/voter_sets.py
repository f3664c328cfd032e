"""Voters of a KRaft quorum and their history by offset, with Kafka's own rules. Pure.

Sources: KIP-853; `org.apache.kafka.raft.ReplicaKey`, `VoterSet` and `internals.VoterSetHistory`,
`TreeMapLogHistory` (KAFKA-16207). Functions that refuse answer None where upstream answers an empty
`Optional`, and raise ValueError where upstream throws IllegalArgumentException.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from jobs.cluster.network_addresses import host_text
from jobs.json_text import fault_of

# `Uuid.ZERO_UUID` as text: upstream writes it where there is no directory id.
NO_DIRECTORY_ID = "AAAAAAAAAAAAAAAAAAAAAA"
# The offset of the records in `0-0.checkpoint`, before the first record of the log.
BEFORE_THE_LOG = -1
_LARGEST_CHANGE = 1

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ReplicaKey:
    """A replica of the metadata log: its node id, and the directory of its log.

    `directory_id` is base64 text as Kafka prints it; None where none is known, which upstream writes as the
    zero uuid (static quorums, LEADER_CHANGE version 0).
    """

    id: int
    directory_id: str | None = None

    def __post_init__(self) -> None:
        if self.directory_id in {NO_DIRECTORY_ID, ""}:
            object.__setattr__(self, "directory_id", None)

    def __str__(self) -> str:
        return f"{self.id} ({self.directory_id or 'no directory id'})"


class Endpoint(NamedTuple):
    """Where a voter listens; the name of the listener is normalised to upper case, as Kafka does."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{host_text(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class VoterNode:
    """One voter: who it is, where it listens, and which values of kraft.version it can do (inclusive)."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def __post_init__(self) -> None:
        named = (Endpoint(one[0].upper(), one[1], one[2]) for one in self.endpoints)
        object.__setattr__(self, "endpoints", tuple(sorted(named)))

    @property
    def id(self) -> int:
        """The node id."""
        return self.key.id

    @property
    def directory_id(self) -> str | None:
        """The directory id as base64 text, None where none is known."""
        return self.key.directory_id

    def is_voter(self, key: ReplicaKey) -> bool:
        """Say whether a replica is this voter: a voter without directory id is any replica of its id."""
        return self.id == key.id and self.directory_id in {None, key.directory_id}

    def can_do(self, kraft_version: int) -> bool:
        """Say whether its software can do this kraft.version."""
        return self.min_kraft_version <= kraft_version <= self.max_kraft_version


@dataclass(frozen=True, slots=True)
class VoterSet:
    """The voters at one moment, in the order of their ids, each id once. Changes answer another set."""

    voters: tuple[VoterNode, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.voters, key=lambda voter: voter.id))
        object.__setattr__(self, "voters", ordered)
        if len(self.ids) != len(ordered):
            raise ValueError(f"a voter set holds each id once, not {[v.id for v in ordered]}")

    def __len__(self) -> int:
        return len(self.voters)

    def __iter__(self) -> Iterator[VoterNode]:
        return iter(self.voters)

    def __str__(self) -> str:
        return ", ".join(str(voter.key) for voter in self.voters) or "no voters"

    @classmethod
    def of_ids(cls, ids: Iterable[int]) -> VoterSet:
        """Return voters of whom only the ids are known, as in a static quorum: they do kraft.version 0."""
        return cls(tuple(VoterNode(ReplicaKey(id_), max_kraft_version=0) for id_ in set(ids)))

    @classmethod
    def from_voters_record(cls, record: Mapping[str, Any]) -> VoterSet:
        """Return the voters of a KRAFT_VOTERS record (VotersRecord version 0) as `kafka-dump-log` prints it.

        Raises ValueError when a field is missing, of another type, or an id is there twice.
        """
        try:
            voters = tuple(_node(voter) for voter in record["voters"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"it is no VotersRecord: {fault_of(error)}") from None
        return cls(voters)

    def to_voters_record(self, version: int = 0) -> dict[str, Any]:
        """Return the fields of a KRAFT_VOTERS record; the inverse of `from_voters_record`."""
        return {"version": version, "voters": [_fields(voter) for voter in self.voters]}

    @property
    def ids(self) -> frozenset[int]:
        """The node ids."""
        return frozenset(voter.id for voter in self.voters)

    @property
    def keys(self) -> frozenset[ReplicaKey]:
        """Ids with directory ids."""
        return frozenset(voter.key for voter in self.voters)

    @property
    def majority(self) -> int:
        """How many voters must be there to elect a leader and to commit."""
        return len(self.voters) // 2 + 1

    def node(self, id_: int) -> VoterNode | None:
        """Return the voter of an id, None when there is none."""
        return next((voter for voter in self.voters if voter.id == id_), None)

    def is_voter(self, key: ReplicaKey) -> bool:
        """Say whether a replica is a voter; the directory counts only where the voter's is known."""
        voter = self.node(key.id)
        return voter is not None and voter.is_voter(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        """Say whether a replica is the one and only voter."""
        return len(self.voters) == 1 and self.is_voter(key)

    def add_voter(self, voter: VoterNode) -> VoterSet | None:
        """Return the set with one more; None when its id is there, also with another directory."""
        return None if voter.id in self.ids else VoterSet((*self.voters, voter))

    def remove_voter(self, key: ReplicaKey) -> VoterSet | None:
        """Return the set without a voter; None when id and directory are not both its, or it is the last."""
        if key not in self.keys or len(self.voters) == 1:
            return None
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))

    def update_voter(self, voter: VoterNode) -> VoterSet | None:
        """Return the set with a voter's endpoints and versions replaced; None when it is no voter."""
        return self._with(voter) if self.is_voter(voter.key) else None

    def update_voter_ignoring_directory_id(self, voter: VoterNode) -> VoterSet | None:
        """Return the set with the voter of this id replaced (Kafka 4.1+, for kraft.version 0 to 1)."""
        return self._with(voter) if voter.id in self.ids else None

    def voter_node_needs_update(self, voter: VoterNode) -> bool:
        """Say whether a voter reports other endpoints or versions than the set has."""
        return self.is_voter(voter.key) and self.node(voter.id) != voter

    def supports_version(self, kraft_version: int) -> bool:
        """Say whether all voters can do a kraft.version (Kafka 4.1+)."""
        return all(voter.can_do(kraft_version) for voter in self.voters)

    def has_overlapping_majority(self, other: VoterSet) -> bool:
        """Say whether the step between two sets is one that Kafka takes for safe, either way.

        True when each set has at most one voter that the other has not; a voter with another directory
        is another voter. One added or one removed makes every two majorities meet. One *exchanged* passes
        this rule too, although then two majorities may miss each other: Kafka never makes that step.
        """
        ours, theirs = self.keys, other.keys
        return max(len(ours - theirs), len(theirs - ours)) <= _LARGEST_CHANGE

    def _with(self, voter: VoterNode) -> VoterSet:
        return VoterSet((*(one for one in self.voters if one.id != voter.id), voter))


class LogHistory(Generic[Value]):
    """Values by the offset from which they hold (`LogHistory`, `TreeMapLogHistory`)."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._values: list[Value] = []

    def __iter__(self) -> Iterator[tuple[int, Value]]:
        return iter(list(zip(self._offsets, self._values, strict=True)))

    def __len__(self) -> int:
        return len(self._offsets)

    def add_at(self, offset: int, value: Value) -> None:
        """Append a value; raises ValueError below -1 and unless the offset is beyond the last."""
        if offset < BEFORE_THE_LOG:
            raise ValueError(
                f"offset {offset} is below {BEFORE_THE_LOG}, where a log's history begins"
            )
        if self._offsets and offset <= self._offsets[-1]:
            raise ValueError(f"offset {offset} is not beyond the last one, {self._offsets[-1]}")
        self._offsets.append(offset)
        self._values.append(value)

    def value_at_or_before(self, offset: int) -> Value | None:
        """Return what holds at an offset, None before the first."""
        place = bisect_right(self._offsets, offset)
        return self._values[place - 1] if place else None

    def last_entry(self) -> tuple[int, Value] | None:
        """Return the last offset with its value, None when there is none."""
        return (self._offsets[-1], self._values[-1]) if self._offsets else None

    def truncate_new_entries(self, end_offset: int) -> None:
        """Drop the entries from this offset on: the log was cut there."""
        place = bisect_left(self._offsets, end_offset)
        del self._offsets[place:], self._values[place:]

    def truncate_old_entries(self, start_offset: int) -> None:
        """Of the entries up to this offset keep only the last: the log begins there now.

        Kafka does so when it takes a snapshot; a history must not.
        """
        place = max(0, bisect_right(self._offsets, start_offset) - 1)
        del self._offsets[:place], self._values[:place]

    def clear(self) -> None:
        """Forget everything."""
        self._offsets.clear()
        self._values.clear()


class VoterSetHistory:
    """Voter sets by the offset of the record that made them, above those of a static configuration.

    A set that could elect another majority than the one before is kept and flagged in `non_overlapping`, as
    Kafka does since 4.0 (KAFKA-17973, for disaster recovery). `is_strict` refuses it with ValueError, as
    Kafka 3.9 did. Entries before offset 0 are not compared: two bootstrap sets need not overlap.
    """

    def __init__(
        self, static_voter_set: VoterSet | None = None, *, is_strict: bool = False
    ) -> None:
        self.static_voter_set = static_voter_set or VoterSet()
        self._is_strict = is_strict
        self._history: LogHistory[VoterSet] = LogHistory()
        self._non_overlapping: set[int] = set()

    def __iter__(self) -> Iterator[tuple[int, VoterSet]]:
        return iter(self._history)

    @property
    def non_overlapping(self) -> tuple[int, ...]:
        """Offsets of sets whose majority need not meet a majority of the set before."""
        return tuple(offset for offset, _ in self._history if offset in self._non_overlapping)

    def add_at(self, offset: int, voters: VoterSet) -> None:
        """Append a set; raises ValueError for offsets that are not beyond the last, and see the class."""
        last = self._history.last_entry()
        overlaps = last is None or last[0] < 0 or last[1].has_overlapping_majority(voters)
        if self._is_strict and not overlaps and last is not None:
            raise ValueError(
                f"the voters at offset {offset} ({voters}) and those at {last[0]} ({last[1]}) differ by more "
                "than one: two majorities need not meet"
            )
        self._history.add_at(offset, voters)
        self._non_overlapping.discard(offset)
        if not overlaps:
            self._non_overlapping.add(offset)

    def value_at_or_before(self, offset: int) -> VoterSet | None:
        """Return the set at an offset, never the static one; None when no record says."""
        return self._history.value_at_or_before(offset)

    def last_entry(self) -> tuple[int, VoterSet] | None:
        """Return the last set that a record made, with its offset."""
        return self._history.last_entry()

    def last_value(self) -> VoterSet:
        """Return the last set, else the static one, which is empty when there is none."""
        last = self._history.last_entry()
        return last[1] if last else self.static_voter_set

    def last_voter_set_offset(self) -> int | None:
        """Return the offset of the last set, None when it is the static one."""
        last = self._history.last_entry()
        return last[0] if last else None

    def truncate_new_entries(self, end_offset: int) -> None:
        """Drop the entries from this offset on."""
        self._history.truncate_new_entries(end_offset)

    def truncate_old_entries(self, start_offset: int) -> None:
        """Of the entries up to this offset keep only the last."""
        self._history.truncate_old_entries(start_offset)

    def clear(self) -> None:
        """Forget every set but the static one."""
        self._history.clear()
        self._non_overlapping.clear()


def _node(voter: Mapping[str, Any]) -> VoterNode:
    """Return a voter of a record; a zero directory id says that there is none."""
    versions = voter["kRaftVersionFeature"]
    return VoterNode(
        ReplicaKey(int(voter["voterId"]), voter["voterDirectoryId"]),
        tuple(Endpoint(e["name"], e["host"], int(e["port"])) for e in voter["endpoints"]),
        int(versions["minSupportedVersion"]),
        int(versions["maxSupportedVersion"]),
    )


def _fields(voter: VoterNode) -> dict[str, Any]:
    return {
        "voterId": voter.id,
        "voterDirectoryId": voter.directory_id or NO_DIRECTORY_ID,
        "endpoints": [endpoint._asdict() for endpoint in voter.endpoints],
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }


def moved_directory(voter: VoterNode, directory_id: str | None) -> VoterNode:
    """Return the same voter with another directory: what a replaced disk makes of it."""
    return replace(voter, key=ReplicaKey(voter.id, directory_id))
