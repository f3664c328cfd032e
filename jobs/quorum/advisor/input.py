"""Requests for voter changes, and a quorum as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.json_text import parse_json
from jobs.near_names import near_name, plain_name
from jobs.quorum.advisor.plan import DiskReplacement
from jobs.quorum.advisor.state import Observed, QuorumState
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet

DEFAULT_LISTENER = "CONTROLLER"
_ID = r"(?P<id>\d{1,10})"
_DIRECTORY = r"(?P<directory>[A-Za-z0-9_-]{22})"
# Kafka's own form, `DynamicVoter`: id@host:port:directoryId; an IPv6 address is in brackets.
_NODE = re.compile(
    rf"{_ID}(@(?P<host>\[[0-9a-fA-F:.]+\]|[^:@\[\]\s]+):(?P<port>\d{{1,5}})(:{_DIRECTORY})?)?"
)
_DISK = re.compile(rf"{_ID}(:{_DIRECTORY})?")
_ENDPOINT = re.compile(r"(?P<name>[^:/]+)://(?P<host>\[[^\]]+\]|[^:]*):(?P<port>\d{1,5})")
_DIGITS = re.compile(r"-?[0-9]{1,19}")
# `kafka-metadata-quorum.sh describe --status`: "CurrentVoters:          [{...}]".
_STATUS_LINE = re.compile(
    r"^[ \t]*(ClusterId|LeaderId|CurrentVoters):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE
)
_LARGEST_ID, _LARGEST_PORT, _LARGEST_OFFSET = (1 << 31) - 1, 65_535, (1 << 63) - 1
_NO_LEADER = -1
_CURRENT_KEYS = ("voters", "committed")
_STATE_KEYS = (
    "current",
    "kraftVersion",
    "leaderId",
    "pending",
    "observers",
    "clusterId",
    *_CURRENT_KEYS,
)
# What `crosslog voters --json` has as well.
_OTHERS = frozenset({"votersets", "kraftversions"})
_VOTER_KEYS = ("id", "directoryId", "endpoints", "alive")
_OBSERVER_KEYS = ("id", "directoryId", "lag", "caughtUp")
_ENDPOINT_KEYS = ("name", "host", "port")


class BadVoters(ValueError):
    """A document that does not say who votes; the message names the place."""


def parse_node(text: str) -> VoterNode:
    """Return the node of `ID`, `ID@HOST:PORT` or `ID@HOST:PORT:DIRECTORY_ID`; raises ValueError."""
    found = _NODE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: write ID, ID@HOST:PORT or ID@HOST:PORT:DIRECTORY_ID")
    endpoints: tuple[Endpoint, ...] = ()
    if found["host"]:
        endpoints = (_endpoint(DEFAULT_LISTENER, found["host"], found["port"]),)
    return VoterNode(ReplicaKey(_id(found["id"]), found["directory"]), endpoints)


def parse_disk(text: str) -> DiskReplacement:
    """Return the replacement of `ID` or `ID:NEW_DIRECTORY_ID`; raises ValueError."""
    found = _DISK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: write ID or ID:NEW_DIRECTORY_ID")
    return DiskReplacement(_id(found["id"]), found["directory"])


def parse_pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """Return NAME=VALUE pairs; raises ValueError for anything else and for a name given twice."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value) or name in pairs:
            raise ValueError(f"{what} {text!r}: write NAME=VALUE, each name once")
        pairs[name] = value
    return pairs


def state_from_text(content: bytes) -> tuple[QuorumState, str]:
    """Return the quorum of a file and the id of its cluster ("": not known); raises `BadVoters`.

    Taken are the documents of `state_from_document`, and what `kafka-metadata-quorum.sh describe --status`
    prints.
    """
    status = _STATUS_LINE.findall(content.decode(json.detect_encoding(content), "replace"))
    document = _status_document(dict(status)) if status else parse_json(content)
    cluster_id = document.get("clusterId") if isinstance(document, Mapping) else None
    return state_from_document(document), cluster_id if isinstance(cluster_id, str) else ""


def _status_document(status: Mapping[str, str]) -> dict[str, Any]:
    """Return the document of a printed status; observers are left out: it does not say how far they are."""
    if "CurrentVoters" not in status:
        raise BadVoters("CurrentVoters is missing: give the whole answer of describe --status")
    return {
        "clusterId": status.get("ClusterId"),
        "leaderId": status.get("LeaderId"),
        "voters": parse_json(status["CurrentVoters"]),
    }


def state_from_document(document: Any) -> QuorumState:
    """Return the quorum of a JSON document; raises `BadVoters` with the path at fault.

    Taken are what `crosslog voters --json` prints, a list of voters (`CurrentVoters` of
    `kafka-metadata-quorum.sh`), and an object with `voters` (ids, or `id`, `directoryId`, `endpoints` as
    objects or `NAME://host:port`, `alive`), and if known `kraftVersion`, `leaderId`, `pending` (whether a
    change is not committed) and `observers` (`id`, `directoryId`, `lag`, `caughtUp`).
    """
    whole = _Told({"voters": document} if isinstance(document, list) else document, "", _STATE_KEYS)
    current = whole.inner("current", _CURRENT_KEYS) or whole
    voters = [_voter(one) for one in current.objects("voters", _VOTER_KEYS) or ()]
    if not voters:
        raise BadVoters(f"{current.path('voters')}: must be a list of voters")
    committed = current.flag("committed")
    pending = whole.flag("pending")
    if pending is None and committed is not None:
        pending = not committed
    leader_id = whole.whole("leaderId", least=-1)
    return QuorumState(
        voters=VoterSet(tuple(voter for voter, _ in voters)),
        alive_ids=_alive(voters),
        kraft_version=whole.whole("kraftVersion"),
        leader_id=None if leader_id == _NO_LEADER else leader_id,
        has_leader=leader_id != _NO_LEADER,
        is_change_pending=pending,
        observers=_observers(whole.objects("observers", _OBSERVER_KEYS)),
    )


class _Told:
    """An object of a document; names are compared without capitals, `_` and `-`. Raises `BadVoters`."""

    def __init__(self, value: Any, path: str, known: Iterable[str]) -> None:
        if not isinstance(value, Mapping):
            raise BadVoters(f"{path or 'the document'}: must be an object")
        self._prefix = f"{path}." if path else ""
        self._values = {}
        for key, one in value.items():
            meant = near_name(str(key), known, _OTHERS)
            if meant is not None:
                raise BadVoters(
                    f"{self._prefix}{key}: there is no such key; {meant} is meant, probably"
                )
            self._values[plain_name(str(key))] = one

    def path(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def get(self, name: str) -> Any:
        return self._values.get(plain_name(name))

    def inner(self, name: str, known: Iterable[str]) -> _Told | None:
        value = self.get(name)
        return None if value is None else _Told(value, self.path(name), known)

    def objects(self, name: str, known: Iterable[str]) -> list[_Told] | None:
        """Return the objects of a list; an id alone is an object with it."""
        found = self.items(name)
        return None if found is None else [
            _Told({"id": one} if type(one) is int else one, f"{self.path(name)}[{at}]", known)
            for at, one in enumerate(found)
        ]  # fmt: skip

    def items(self, name: str) -> list[Any] | None:
        value = self.get(name)
        if value is not None and not isinstance(value, list):
            raise BadVoters(f"{self.path(name)}: must be a list")
        return value

    def whole(self, name: str, least: int = 0, largest: int = _LARGEST_OFFSET) -> int | None:
        value = self.get(name)
        return None if value is None else _whole(value, self.path(name), least, largest)

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise BadVoters(f"{self.path(name)}: must be true or false")
        return value

    def key(self) -> ReplicaKey:
        """Return id and directory of a node."""
        id_ = self.whole("id", largest=_LARGEST_ID)
        directory = self.get("directoryId")
        if id_ is None:
            raise BadVoters(f"{self.path('id')}: must be the id of a node")
        if directory is not None and not isinstance(directory, str):
            raise BadVoters(f"{self.path('directoryId')}: must be a text")
        return ReplicaKey(id_, directory)


def _voter(told: _Told) -> tuple[VoterNode, bool | None]:
    path = told.path("endpoints")
    endpoints = [
        _told_endpoint(one, f"{path}[{at}]") for at, one in enumerate(told.items("endpoints") or ())
    ]
    return VoterNode(told.key(), tuple(endpoints)), told.flag("alive")


def _alive(voters: list[tuple[VoterNode, bool | None]]) -> frozenset[int] | None:
    """Return who is alive; None where no voter says it. Where some do, the others are alive."""
    if all(alive is None for _, alive in voters):
        return None
    return frozenset(voter.id for voter, alive in voters if alive is not False)


def _told_endpoint(told: Any, path: str) -> Endpoint:
    if isinstance(told, str):
        found = _ENDPOINT.fullmatch(told)
        if found is None:
            raise BadVoters(f"{path}: {told!r}: write NAME://HOST:PORT")
        return _endpoint(found["name"], found["host"], found["port"])
    parts = _Told(told, path, _ENDPOINT_KEYS)
    name, host, port = parts.get("name"), parts.get("host"), parts.whole("port")
    if not isinstance(name, str) or not isinstance(host, str) or port is None:
        raise BadVoters(f"{path}: must have name, host and port of an endpoint")
    return _endpoint(name, host, port)


def _endpoint(name: str, host: str, port: int | str) -> Endpoint:
    number = int(port)
    if not 0 < number <= _LARGEST_PORT:
        raise BadVoters(f"{port} is no port")
    return Endpoint(name, host.strip("[]"), number)


def _observers(told: list[_Told] | None) -> tuple[Observed, ...] | None:
    if told is None:
        return None
    return tuple(
        Observed(
            key=one.key(),
            # -1 is what kafka-metadata-quorum.sh prints for not known.
            lag_records=None if (lag := one.whole("lag", least=-1)) == -1 else lag,
            has_caught_up=lag != -1 if (said := one.flag("caughtUp")) is None else said,
        )
        for one in told
    )


def _whole(value: Any, path: str, least: int = -1, largest: int = _LARGEST_ID) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if type(value) is not int or not least <= value <= largest:
        raise BadVoters(f"{path}: must be a whole number from {least} to {largest}")
    return value


def _id(text: str) -> int:
    number = int(text)
    if number > _LARGEST_ID:
        raise BadVoters(f"{text} is no node id")
    return number
