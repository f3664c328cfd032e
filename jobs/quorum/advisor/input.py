"""What somebody writes to ask for other voters, and a quorum written down as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.quorum.advisor.plan import DiskReplacement
from jobs.quorum.advisor.state import Observed, QuorumState
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet

DEFAULT_LISTENER = "CONTROLLER"
_ID = r"(?P<id>\d{1,10})"
_DIRECTORY = r"(?P<directory>[A-Za-z0-9_-]{22})"
# Kafka's own form, `DynamicVoter`: id@host:port:directoryId; an IPv6 address stands in brackets.
_NODE = re.compile(
    rf"{_ID}(@(?P<host>\[[0-9a-fA-F:.]+\]|[^:@\[\]\s]+):(?P<port>\d{{1,5}})(:{_DIRECTORY})?)?"
)
_DISK = re.compile(rf"{_ID}(:{_DIRECTORY})?")
_ENDPOINT = re.compile(r"(?P<name>[^:/]+)://(?P<host>\[[^\]]+\]|[^:]*):(?P<port>\d{1,5})")
_LARGEST_ID, _LARGEST_PORT = (1 << 31) - 1, 65_535


def parse_node(text: str) -> VoterNode:
    """Return the node of `ID`, `ID@HOST:PORT` or `ID@HOST:PORT:DIRECTORY_ID`; raises ValueError."""
    found = _NODE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: ID, ID@HOST:PORT or ID@HOST:PORT:DIRECTORY_ID is wanted")
    endpoints: tuple[Endpoint, ...] = ()
    if found["host"]:
        endpoints = (_endpoint(DEFAULT_LISTENER, found["host"], found["port"]),)
    return VoterNode(ReplicaKey(_id(found["id"]), found["directory"]), endpoints)


def parse_disk(text: str) -> DiskReplacement:
    """Return the replacement of `ID` or `ID:NEW_DIRECTORY_ID`; raises ValueError."""
    found = _DISK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: ID or ID:NEW_DIRECTORY_ID is wanted")
    return DiskReplacement(_id(found["id"]), found["directory"])


def parse_pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """Return NAME=VALUE pairs; raises ValueError for anything else and for a name given twice."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value) or name in pairs:
            raise ValueError(f"{what} {text!r}: NAME=VALUE is wanted, each name once")
        pairs[name] = value
    return pairs


def state_from_document(document: Any) -> QuorumState:
    """Return the quorum of a JSON document; raises ValueError.

    Taken are what `crosslog voters --json` prints, and an object with `voters` (`id`, `directoryId`,
    `endpoints` as objects or `NAME://host:port`, `alive`), and if known `kraftVersion`, `leaderId`,
    `pending` (whether a change is not committed) and `observers` (`id`, `directoryId`, `lag`, `caughtUp`).
    """
    try:
        current = document.get("current") or document
        voters = [(_voter(one), one.get("alive")) for one in current["voters"]]
        committed = current.get("committed")
        return QuorumState(
            voters=VoterSet(tuple(voter for voter, _ in voters)),
            alive_ids=_alive(voters),
            kraft_version=_number(document.get("kraftVersion")),
            leader_id=_number(document.get("leaderId")),
            is_change_pending=document.get("pending", None if committed is None else not committed),
            observers=_observers(document.get("observers")),
        )
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise ValueError(
            f"it is no description of voters: {type(error).__name__} {error}"
        ) from None


def _alive(voters: list[tuple[VoterNode, Any]]) -> frozenset[int] | None:
    """Return who is alive; None where no voter says it. Where some do, the others are alive."""
    if all(alive is None for _, alive in voters):
        return None
    return frozenset(voter.id for voter, alive in voters if alive is not False)


def _voter(told: Mapping[str, Any]) -> VoterNode:
    return VoterNode(
        ReplicaKey(_id(told["id"]), told.get("directoryId")),
        tuple(_told_endpoint(one) for one in told.get("endpoints") or ()),
    )


def _told_endpoint(told: Any) -> Endpoint:
    if not isinstance(told, str):
        return _endpoint(told["name"], told["host"], told["port"])
    found = _ENDPOINT.fullmatch(told)
    if found is None:
        raise ValueError(f"{told!r}: NAME://HOST:PORT is wanted")
    return _endpoint(found["name"], found["host"], found["port"])


def _endpoint(name: str, host: str, port: Any) -> Endpoint:
    number = int(port)
    if not 0 < number <= _LARGEST_PORT:
        raise ValueError(f"{port} is no port")
    return Endpoint(str(name), str(host).strip("[]"), number)


def _observers(told: Any) -> tuple[Observed, ...] | None:
    if told is None:
        return None
    return tuple(
        Observed(
            key=ReplicaKey(_id(one["id"]), one.get("directoryId")),
            # -1 is what kafka-metadata-quorum.sh prints for not known.
            lag_records=None if (lag := _number(one.get("lag"))) == -1 else lag,
            has_caught_up=bool(one.get("caughtUp", lag != -1)),
        )
        for one in told
    )


def _number(told: Any) -> int | None:
    return None if told is None else int(told)


def _id(told: Any) -> int:
    number = int(told)
    if not 0 <= number <= _LARGEST_ID:
        raise ValueError(f"{told} is no node id")
    return number
