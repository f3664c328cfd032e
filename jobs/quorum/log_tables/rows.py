"""From a change, a voter set or an election to its row in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jobs.cluster.network_addresses import host_text
from jobs.quorum.history.changes import (
    AnyChange,
    BrokerChange,
    Change,
    ConfigChange,
    FeatureChange,
    TopicChange,
)
from jobs.quorum.timeline.parts import ControllerGap, Election, VoterSetEntry
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode

Row = dict[str, Any]


def change_row(change: AnyChange) -> tuple[str, Row] | None:
    """Return the table of a change and its row; None for one that has no table."""
    told = _TABLES.get(type(change))
    if told is None:
        return None
    name, own = told
    return name, {**_place(change), **own(change)}


def voter_set_row(entry: VoterSetEntry) -> Row:
    """Return the row of a voter set."""
    voters = sorted(entry.voters, key=lambda voter: voter.id)
    return {
        "offset": entry.offset,
        "epoch": entry.epoch,
        "timestamp_ms": entry.timestamp_ms,
        "voter_ids": [voter.id for voter in voters],
        "voters": _named(voters),
        "added": _named(entry.change.added),
        "removed": _named(entry.change.removed),
        "source": entry.source.value,
        "is_static": entry.is_static,
        "is_after_gap": entry.is_after_gap,
    }


def election_row(election: Election, ended_ms: int | None) -> Row:
    """Return the row of an election; `ended_ms` is the time of the leader's last record."""
    return {
        "offset": election.offset,
        "epoch": election.epoch,
        "timestamp_ms": election.timestamp_ms,
        "leader_id": election.leader_id,
        "previous_leader_id": election.previous_leader_id,
        "voter_ids": [key.id for key in election.voters],
        "granting_ids": [key.id for key in election.granting],
        "gap_ms": election.gap_ms,
        "skipped_epochs": election.skipped_epochs,
        "ended_ms": ended_ms,
    }


def silence_row(gap: ControllerGap) -> Row:
    """Return the row of a time in which no controller wrote."""
    return {
        "from_offset": gap.from_offset,
        "to_offset": gap.to_offset,
        "from_ms": gap.from_ms,
        "to_ms": gap.to_ms,
        "is_election": gap.is_election,
    }


def _place(change: Change) -> Row:
    return {
        "offset": change.offset,
        "effective_offset": change.effective_offset,
        "epoch": change.epoch,
        "timestamp_ms": change.timestamp_ms,
        "not_after_ms": change.not_after_ms,
        "cause": change.cause.value,
    }


def _broker(change: BrokerChange) -> Row:
    same = (
        "broker_id",
        "rack",
        "incarnation_id",
        "broker_epoch",
        "is_fenced",
        "in_controlled_shutdown",
        "is_removed",
        "previous_is_fenced",
        "previous_rack",
    )
    endpoints = [f"{one.name}://{host_text(one.host)}:{one.port}" for one in change.endpoints]
    return {**{name: getattr(change, name) for name in same}, "endpoints": endpoints}


def _config(change: ConfigChange) -> Row:
    same = ("resource_type", "resource_name", "name", "value", "previous_value")
    return {name: getattr(change, name) for name in same}


def _feature(change: FeatureChange) -> Row:
    return {name: getattr(change, name) for name in ("name", "level", "previous_level")}


def _topic(change: TopicChange) -> Row:
    return {name: getattr(change, name) for name in ("topic_id", "topic", "is_removed")}


def _named(voters: Iterable[VoterNode | ReplicaKey]) -> list[str]:
    return [f"{one.id}@{one.directory_id}" if one.directory_id else str(one.id) for one in voters]


_TABLES: dict[type[Any], tuple[str, Callable[[Any], Row]]] = {
    BrokerChange: ("broker_changes", _broker),
    ConfigChange: ("config_changes", _config),
    FeatureChange: ("features", _feature),
    TopicChange: ("topic_changes", _topic),
}
