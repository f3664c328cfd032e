"""Members of a group and what they hold, and what moved between two rebalances."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from jobs.cluster.group_members import ClassicGroup
from jobs.limits import MEMBERS, short
from jobs.streams.collection.applications import STREAM_PROTOCOL
from jobs.streams.from_classic import members_of
from jobs.wire.consumer_protocol import decode_consumer_assignment
from jobs.wire.errors import RecordFormatError

# (role, partition or task).
Slot = tuple[str, str]
Held = dict[str, frozenset[Slot]]
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Member:
    """A member; `identity` outlives a restart of a static one, and `client` that of every one."""

    identity: str
    client_id: str
    instance_id: str | None
    host: str

    @property
    def client(self) -> tuple[str, str, str]:
        """Instance id, client id with `*` for a UUID, and host."""
        return self.instance_id or "", _UUID.sub("*", self.client_id), self.host


def member_of(member_id: str, client_id: str, instance_id: str | None, host: str) -> Member:
    """Return a member with texts of bounded length."""
    named = member_id if member_id.startswith(client_id) else f"{client_id}/{member_id}"
    instance = None if instance_id is None else short(instance_id)
    return Member(
        instance or short(named), short(client_id), instance, short(host.removeprefix("/"))
    )


class Generation(NamedTuple):
    """What the members of a classic group tell: `held` is None where it cannot be read.

    `is_planned`: members of Kafka Streams announce a later rebalance.
    """

    members: Mapping[str, Member]
    held: Held | None
    is_planned: bool = False


def generation_of(group: ClassicGroup) -> Generation:
    """Read the members of a completed rebalance."""
    members = {
        one.member_id: member_of(one.member_id, one.client_id, one.instance_id, one.client_host)
        for one in group.members
    }
    if len(members) > MEMBERS or (members and group.protocol_type != "consumer"):
        return Generation(members, None)
    if group.protocol == STREAM_PROTOCOL:
        seen = members_of(group, {})
        held = {
            members[one.member_id].identity: frozenset(
                (role.value, str(task)) for role, task in one.now.with_roles()
            )
            for one in seen.threads
        }
        is_read = all(one.problem is None for one in seen.threads)
        return Generation(members, held if is_read else None, seen.next_rebalance_ms is not None)
    try:
        plain = {
            members[one.member_id].identity: frozenset(
                ("active", f"{short(topic)}-{number}")
                for topic, number in decode_consumer_assignment(one.assignment).assigned
            )
            for one in group.members
            if one.assignment
        }
    except RecordFormatError:
        return Generation(members, None)
    return Generation(members, plain)


def moves_between(before: Held, after: Held) -> Iterator[dict[str, Any]]:
    """Yield what changed hands; nothing where there was no owner at all, or is none now."""
    if not any(before.values()) or not any(after.values()):
        return
    lost: dict[Slot, list[str]] = defaultdict(list)
    gained: dict[Slot, list[str]] = defaultdict(list)
    for one in sorted(before.keys() | after.keys()):
        old, new = before.get(one, frozenset()), after.get(one, frozenset())
        for slots, found in ((old - new, lost), (new - old, gained)):
            for slot in slots:
                found[slot].append(one)
    for role, unit in sorted(lost.keys() | gained.keys()):
        pairs = zip_longest(lost[role, unit], gained[role, unit])
        yield from ({"role": role, "unit": unit, "from": a, "to": b} for a, b in pairs)
