"""What is left where the metadata log may not be read: the quorum is polled, and kept when it changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.cluster.admin.quorum import QuorumDescription, read_quorum
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.cluster.protocol.metadata import ClusterMetadata

NAME = "quorum-polls.jsonl"
POLL_S = 2.0
# For people: what the log would have told.
LOST = (
    "Who left and came between two polls, and in which order.",
    "Offsets and times of changes of voters and leaders: a poll only tells what is so when it is made.",
    "Uncommitted voter sets, and how long elections took.",
    "ISR, ELR, leaders and their causes; registrations and fencing of brokers; topics; configurations.",
    "The state of the cluster at an offset or a time, and the difference of two moments.",
)


class QuorumPolls:
    """Appends a line to a file whenever leader, epoch, voters, observers or brokers have changed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._last: object = _seen(_last_line(self._path))

    def keep(self, quorum: QuorumDescription, brokers: tuple[int, ...]) -> bool:
        """Keep a description when it differs from the last one kept; returns whether it does.

        Raises OSError when it cannot be written.
        """
        line = asdict(quorum) | {"brokers": list(brokers)}
        seen = _seen(line)
        if seen == self._last:
            return False
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._last = seen
        return True


class QuorumPoll:
    """Asks brokers, or controllers that describe the quorum but do not serve its log."""

    def __init__(self, cluster: RawCluster, *, now_s: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._now_s = now_s
        self._known: ClusterMetadata | None = None

    async def ask(self) -> tuple[QuorumDescription, tuple[int, ...]]:
        """Return the quorum and the ids of the live brokers, () from controllers; raises `ClusterFault`."""
        quorum = await read_quorum(self._cluster, budget_s=POLL_S, now_s=self._now_s)
        try:
            self._known = await self._cluster.metadata(newer_than=self._known)
        except VersionNotOffered:
            return quorum, ()
        return quorum, tuple(sorted(self._known.brokers))


def _seen(line: dict[str, Any] | None) -> object:
    """Return what counts as a change; offsets and times do not."""
    if line is None:
        return None
    who = [
        [(one["id"], one["directory_id"]) for one in line[kind]] for kind in ("voters", "observers")
    ]
    return line["leader_id"], line["leader_epoch"], who, list(line["brokers"])


def _last_line(path: Path) -> dict[str, Any] | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = json.loads(lines[-1]) if lines else None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return None
    return found if isinstance(found, dict) and "brokers" in found else None
