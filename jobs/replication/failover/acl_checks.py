"""Whether the principals that read as a group on the origin may do so on the destination. Pure.

Only what both clusters tell of their ACLs: rights that come from elsewhere (super users, other authorizers)
are not seen. Matching is that of org.apache.kafka.metadata.authorizer.StandardAuthorizer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.model import Check, CheckState

TOPIC, GROUP = "TOPIC", "GROUP"
_READS = frozenset({"READ", "ALL"})
_EVERYBODY = "User:*"
_FEW = 5
_KEY = "acls"


def check_acls(found: Evidence, group: str, topics: Collection[str]) -> Check:
    """Return whether the readers of a group may READ it and these topics (destination names) there."""
    here, there = found.origin.acls, found.destination.acls
    if there is None:
        text = f"{found.destination.alias} has no authorizer: all clients may read."
        return Check(_KEY, CheckState.PASSED, text)
    if isinstance(there, str):
        return _unknown(found.destination.alias, there)
    if isinstance(here, str):
        return _unknown(found.origin.alias, here)
    if here is None:
        text = f"{found.origin.alias} has no authorizer: which principals read as {group} is not known."
        return Check(
            _KEY, CheckState.UNKNOWN, text, "", _NEXT.format(alias=found.destination.alias)
        )
    readers = sorted(set(_readers(here, group)))
    if not readers:
        text = f"No ACL of {found.origin.alias} allows a principal to read as {group}."
        hint = "The consumers of this group are super users: check that they are so on the target, too."
        return Check(_KEY, CheckState.UNKNOWN, text, "", hint)
    return _judged(found.destination.alias, readers, list(_missing(there, readers, group, topics)))


_NEXT = "Check that its principals may READ the group and the topics on {alias}."


def _unknown(alias: str, why: str) -> Check:
    text = f"The ACLs of {alias} could not be read."
    return Check(_KEY, CheckState.UNKNOWN, text, why, _NEXT.format(alias=alias))


def _judged(alias: str, readers: Sequence[str], missing: Sequence[str]) -> Check:
    who = ", ".join(readers[:_FEW]) + (f" and {len(readers) - _FEW} more" * (len(readers) > _FEW))
    if not missing:
        text = f"Principals that read as the group on the origin may do so on {alias}."
        return Check(_KEY, CheckState.PASSED, text, who)
    more = f" and {len(missing) - _FEW} more" if len(missing) > _FEW else ""
    text = f"On {alias} the group's principals lack some ACLs."
    return Check(_KEY, CheckState.FAILED, text, "; ".join(missing[:_FEW]) + more, "Add these ACLs.")


def _missing(
    there: Sequence[AclBinding], readers: Iterable[str], group: str, topics: Collection[str]
) -> Iterator[str]:
    wanted = [(GROUP, group), *((TOPIC, topic) for topic in sorted(topics))]
    for reader in readers:
        for kind, name in wanted:
            if not _may_read(there, reader, kind, name):
                yield f"{reader} has no READ on {kind.lower()} {name}"


def _readers(bindings: Iterable[AclBinding], group: str) -> Iterator[str]:
    for binding in bindings:
        if _applies(binding, GROUP, group) and binding.permission == "ALLOW":
            yield binding.principal


def _may_read(bindings: Sequence[AclBinding], reader: str, kind: str, name: str) -> bool:
    """Return whether an ACL allows it from any host and none denies it: a denial counts more."""
    fitting = [
        one
        for one in bindings
        if _applies(one, kind, name) and one.principal in {reader, _EVERYBODY}
    ]
    permissions = {one.permission for one in fitting}
    return "ALLOW" in permissions and "DENY" not in permissions


def _applies(binding: AclBinding, kind: str, name: str) -> bool:
    if binding.resource_type != kind or binding.operation not in _READS:
        return False
    if binding.pattern_type == "PREFIXED":
        return name.startswith(binding.name)
    return binding.name in {name, "*"}
