"""One group after the other rebalance: rows of what happened, from its records in the order of the log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.limits import MEMBERS
from jobs.spark.analyses.groups.assignments import Held, Member, generation_of, moves_between
from jobs.streams.collection.capture import Rebalance
from jobs.wire.topics.group_epochs import Current

Row = dict[str, Any]
# A client that came back in so many rebalances within so long is flapping.
_RETURNS, _WITHIN_MS = 3, 3_600_000
_MOST_LISTED = 20
_UNTIL_KNOWN = ("joined", "left", "moved", "duration_ms", "joined_members", "left_members")


@dataclass(slots=True)
class Told:
    """Rows of all groups of a task: the newest of each list. `counts` are before that."""

    rebalances: deque[Row]
    moves: deque[Row]
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, row: Row) -> None:
        """Keep a row of `rebalances` or `moves`."""
        self.counts[name] += 1
        getattr(self, name).append(row)


class Group:
    """The state of one group; `is_new`: the log has all its records, so that it begins with no member.

    `is_partial`: records of members that are still there may be missing. Rows before `from_ms` are not told.
    """

    def __init__(
        self, group_id: str, told: Told, from_ms: int, *, is_new: bool, is_partial: bool
    ) -> None:
        self.group_id, self._told, self._from_ms = group_id, told, from_ms
        self._is_partial = is_partial
        self._protocol = ""
        self._members: dict[str, Member] = {}
        self._clients: dict[tuple[str, str, str], Row] = {}
        self._stats: Row = dict.fromkeys(("rebalances", "joins", "leaves", "moves", "missed"), 0)
        self._stats |= dict.fromkeys(("first_ms", "last_ms", "deleted_ms", "longest_ms"))
        self._forget(is_known=is_new)

    def _forget(self, *, is_known: bool) -> None:
        """Begin again: with no member, or with members that are not known."""
        self._generation = 0 if is_known else None
        self._is_known = is_known
        self._members.clear()
        self._gone: set[str] = set()
        self._reached: set[str] = set()
        self._named: Mapping[str, Member] = {}
        self._held: Held | None = {}
        self._before: Held | None = {}
        self._row: Row | None = None
        self._is_planned = self._is_changed = False

    def delete(self, protocol: str, at_ms: int) -> None:
        """Take the tombstone of the group; one of another protocol says that it was left before."""
        if protocol != self._protocol:
            return
        self.finish()
        self._forget(is_known=True)
        self._stats["deleted_ms"] = at_ms

    def complete(self, one: Rebalance, record_ms: int) -> None:
        """Take a generation of the classic protocol."""
        self._speak("classic")
        number = one.generation
        if self._generation is not None and number < self._generation:
            # The group was deleted since, and its tombstone is gone.
            self._forget(is_known=False)
        if self._generation is None and number <= 1:
            self._forget(is_known=True)
        found = generation_of(one.group)
        if number != self._generation:
            at_ms = record_ms if one.at_ms is None else one.at_ms
            self._before = self._held
            row = self._open(number, at_ms, found.members)
            if row["reason"] == "same_members" and self._is_planned:
                row["reason"] = "planned"
            self._held = found.held
            self.finish()
            self._is_known = True
        elif number:
            # A static member was replaced.
            self._named = {member.identity: member for member in found.members.values()}
        self._held, self._is_planned = found.held, found.is_planned

    def bump(self, protocol: str, epoch: int, at_ms: int) -> None:
        """Take an epoch of a group of the consumer or streams protocol."""
        self._speak(protocol)
        if self._generation is not None and epoch < self._generation:
            self._forget(is_known=False)
        if epoch == self._generation:
            return
        self.finish()
        self._before = None if self._held is None else dict(self._held)
        for member_id in self._gone:
            self._remove(member_id)
        self._gone.clear()
        self._reached.clear()
        # The first epochs of a group are written together.
        is_first = self._generation == 0
        row = self._open(epoch, at_ms, self._members)
        row["missed"] = 0 if is_first else row["missed"]
        if row["reason"] == "same_members" and self._is_changed:
            row["reason"] = "member_changed"
        self._row = row
        self._is_changed = False

    def member(self, protocol: str, member_id: str, one: Member | None) -> None:
        """Take a member of a group with epochs; None: its tombstone."""
        self._speak(protocol)
        if one is None:
            self._gone.add(member_id)
            return
        for other in [gone for gone in self._gone if self._has(gone, one.identity)]:
            self._members.pop(other)
            self._gone.discard(other)
        self._is_changed |= member_id in self._members
        self._gone.discard(member_id)
        self._members[member_id] = one

    def current(self, protocol: str, member_id: str, one: Current | None, at_ms: int) -> None:
        """Take what a member has now; a tombstone counts from the next epoch on."""
        self._speak(protocol)
        if one is None:
            self._reached.discard(member_id)
            return
        if self._held is not None:
            self._held[self._identity(member_id)] = one.held
        if one.is_stable and one.epoch == self._generation:
            self._reached.add(member_id)
        row = self._row
        is_last = self._members and self._members.keys() <= self._reached
        if is_last and row and row["is_known"] and row["duration_ms"] is None:
            row["duration_ms"] = max(at_ms - row["at_ms"], 0)

    def finish(self) -> None:
        """Tell the rebalance that is open."""
        row, self._row = self._row, None
        if row is None:
            return
        self._is_known = self._protocol == "classic" or not self._is_partial
        if row.pop("is_known") and self._before is not None and self._held is not None:
            moves = list(moves_between(self._before, self._held))
            row["moved"] = len(moves)
        else:
            moves = []
        if row["at_ms"] < self._from_ms:
            return
        self._count(row)
        self._told.add("rebalances", row)
        for one in moves:
            named = {name: row[name] for name in ("group", "generation", "at_ms", "protocol")}
            self._told.add("moves", {**named, **one})

    def rows(self) -> tuple[Row | None, list[Row]]:
        """Return the row of the group, None without a rebalance in the range, and those of its clients."""
        stats = self._stats
        if not stats["rebalances"] and stats["deleted_ms"] is None:
            return None, []
        now = len(self._named) if self._is_known else None
        named = {"group": self.group_id, "protocol": self._protocol, "members_now": now}
        clients = []
        for one in self._clients.values():
            back = one.pop("returns_ms")
            pairs = zip(back, back[_RETURNS - 1 :], strict=False)
            is_flapping = any(last - first <= _WITHIN_MS for first, last in pairs)
            clients.append({"group": self.group_id, **one, "is_flapping": is_flapping})
        return {**named, **stats}, clients

    def _speak(self, protocol: str) -> None:
        if self._protocol and protocol != self._protocol:
            self.finish()
            self._forget(is_known=False)
        self._protocol = protocol

    def _identity(self, member_id: str) -> str:
        found = self._members.get(member_id)
        return member_id if found is None else found.identity

    def _has(self, member_id: str, identity: str) -> bool:
        return member_id in self._members and self._identity(member_id) == identity

    def _remove(self, member_id: str) -> None:
        identity = self._identity(member_id)
        self._members.pop(member_id, None)
        if self._held is not None:
            self._held.pop(identity, None)

    def _open(self, number: int, at_ms: int, members: Mapping[str, Member]) -> Row:
        before, self._named = self._named, {one.identity: one for one in members.values()}
        joined = sorted(self._named.keys() - before.keys())
        left = sorted(before.keys() - self._named.keys())
        previous, self._generation = self._generation, number
        missed = None if previous is None else number - previous - 1
        is_whole = self._protocol == "classic" or not self._is_partial
        row: Row = {
            "group": self.group_id,
            "protocol": self._protocol,
            "generation": number,
            "at_ms": at_ms,
            "members": len(members) if is_whole else None,
            "missed": missed,
            "reason": "emptied" if is_whole and not members else "not_known",
            "is_known": self._is_known,
        } | dict.fromkeys(_UNTIL_KNOWN)
        if self._is_known:
            row |= {"joined": len(joined), "left": len(left)}
            row["joined_members"], row["left_members"] = joined[:_MOST_LISTED], left[:_MOST_LISTED]
            changes = [word for word, found in (("joined", joined), ("left", left)) if found]
            if members and not missed:
                row["reason"] = "_and_".join(changes) or "same_members"
        self._stats["deleted_ms"] = None
        if at_ms >= self._from_ms:
            is_known = self._is_known
            self._meet(at_ms, "leaves", [before[one] for one in left] if is_known else ())
            self._meet(at_ms, "joins", [self._named[one] for one in joined] if is_known else ())
            self._meet(at_ms, "", self._named.values())
        self._row = row
        return row

    def _meet(self, at_ms: int, word: str, members: Iterable[Member]) -> None:
        """Count who came (`joins`) and went (`leaves`) by client; without a word, who is there."""
        for client, count in Counter(one.client for one in members).items():
            found = self._clients.get(client)
            if found is None:
                if len(self._clients) >= MEMBERS:
                    self._told.counts["clients_left_out"] += 1
                    continue
                names = zip(("instance_id", "client_id", "host"), client, strict=True)
                found = self._clients[client] = {name: text or None for name, text in names}
                found |= {"joins": 0, "leaves": 0, "first_ms": at_ms, "returns_ms": []}
            if word == "joins" and found["leaves"]:
                found["returns_ms"].append(at_ms)
            if word:
                found[word] += count
            found["last_ms"] = at_ms

    def _count(self, row: Row) -> None:
        stats = self._stats
        stats["rebalances"] += 1
        sums = ("joins", "joined"), ("leaves", "left"), ("moves", "moved"), ("missed", "missed")
        for name, source in sums:
            stats[name] += row[source] or 0
        stats["first_ms"] = row["at_ms"] if stats["first_ms"] is None else stats["first_ms"]
        stats["last_ms"] = row["at_ms"]
        lasted = (stats["longest_ms"], row["duration_ms"])
        stats["longest_ms"] = max((one for one in lasted if one is not None), default=None)
