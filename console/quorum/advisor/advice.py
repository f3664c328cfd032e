"""Voter change plans from what the console knows of a quorum; the cluster is not queried or changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console.quorum import queries
from console.quorum.facts import read_at
from console.quorum.models import MetadataLog, QuorumStatus, VoterSetEntry
from jobs.quorum.advisor.advice import plan_change
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.plan import ChangePlan, DiskReplacement, WantedChange
from jobs.quorum.advisor.site_layout import plan_layout
from jobs.quorum.advisor.state import Observed, QuorumState
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet

_DEAD = {"silent"}


@dataclass(frozen=True, slots=True)
class VoterChangeRequest:
    """A requested change of the voters.

    Added and replaced ids are those of controllers that run without a vote: their directory ids and endpoints
    are filled in. `per_site` gives the number of voters at each site instead, `sites` maps nodes to sites.
    """

    add: Sequence[int] = ()
    remove: Sequence[int] = ()
    replace: Sequence[int] = ()
    sites: Mapping[int, str] = field(default_factory=dict)
    per_site: Mapping[str, int] = field(default_factory=dict)


def advise(log: MetadataLog, status: QuorumStatus, asked: VoterChangeRequest) -> ChangePlan:
    """Return the safe steps to the requested voters, or why there is no safe plan."""
    state = state_of(log, status, asked.sites)
    if asked.per_site:
        candidates = [_candidate(row) for row in _observers(status) if row["directory_id"]]
        return plan_layout(state, asked.per_site, candidates, tools_of(log))
    by_id = {row["id"]: row for row in _observers(status)}
    wanted = WantedChange(
        tuple(_candidate(by_id.get(one, {"id": one})) for one in asked.add),
        tuple(asked.remove),
        tuple(
            DiskReplacement(one, by_id.get(one, {}).get("directory_id")) for one in asked.replace
        ),
    )
    return plan_change(state, wanted, tools_of(log))


def state_of(log: MetadataLog, status: QuorumStatus, sites: Mapping[int, str]) -> QuorumState:
    """Return the quorum as it was last described, with what the log says of kraft.version."""
    voters = [row for row in status.replicas if row["role"] != "observer"]
    newest = queries.list_voter_sets(log).order_by("-offset").first()
    alive = frozenset(row["id"] for row in voters if not _DEAD & set(row["words"]))
    return QuorumState(
        voters=VoterSet(tuple(_candidate(row) for row in voters)),
        alive_ids=alive,
        kraft_version=_kraft_version(voters, newest),
        leader_id=status.leader_id,
        has_leader=status.leader_id is not None and status.high_watermark is not None,
        is_change_pending=_is_pending(status, newest),
        observers=tuple(_observed(row, status.succeeded_at) for row in _observers(status)),
        sites=dict(sites),
        broker_hosts=queries.broker_hosts(log),
    )


def tools_of(log: MetadataLog) -> Tools:
    """Return how the commands reach the cluster; a secured one needs a file that only the operator has."""
    cluster = log.cluster
    if cluster is None:
        return Tools()
    is_plain = cluster.security_protocol == "PLAINTEXT"
    return Tools(
        bootstrap_server=cluster.bootstrap_servers,
        client_properties="" if is_plain else "client.properties",
        cluster_id=cluster.cluster_id,
    )


def _observers(status: QuorumStatus) -> list[dict[str, Any]]:
    return [row for row in status.replicas if row["role"] == "observer"]


def _candidate(row: Mapping[str, Any]) -> VoterNode:
    endpoints = tuple(_endpoint(text) for text in row.get("endpoints", ()))
    return VoterNode(ReplicaKey(row["id"], row.get("directory_id")), endpoints)


def _endpoint(text: str) -> Endpoint:
    name, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return Endpoint(name, host.strip("[]"), int(port))


def _observed(row: Mapping[str, Any], now: datetime | None) -> Observed:
    fetched = read_at(row["last_fetch_at"])
    age_ms = None
    if fetched is not None and now is not None:
        age_ms = max(int((now - fetched).total_seconds() * 1000), 0)
    return Observed(
        ReplicaKey(row["id"], row["directory_id"]),
        row["lag"],
        age_ms,
        has_caught_up=None not in {row["log_end_offset"], row["last_caught_up_at"]},
    )


def _kraft_version(voters: Iterable[Mapping[str, Any]], newest: VoterSetEntry | None) -> int | None:
    """A dynamic quorum knows the directory ids of its voters; of an older version it is not known."""
    if newest is not None and newest.is_static:
        return 0
    named = [row["directory_id"] is not None for row in voters]
    return 1 if named and all(named) else None


def _is_pending(status: QuorumStatus, newest: VoterSetEntry | None) -> bool | None:
    if newest is None or status.high_watermark is None:
        return None
    return newest.offset >= status.high_watermark
