"""A quorum that is followed into an archive, whose voters change, whose logs are compared with it."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from jobs.cluster.admin.quorum import QuorumDescription, describe_quorum
from jobs.cluster.errors import ClusterFault
from jobs.lab.cluster import NOT_YET, Cluster
from jobs.lab.node import Node
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.batches import checked_batches
from jobs.quorum.log.follower import Heard, follow
from jobs.quorum.log.source import MetadataSource
from tests.live.kafka_tools import LOG, QUORUM, run
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually

# What Kafka's tool says of a removal that was made before.
REMOVED_BEFORE = ("VOTER_NOT_FOUND", "VoterNotFoundException")


@dataclass
class Followed:
    """An archive that a thread follows into, and what was heard; `lags_ms`: one per answer with news."""

    folder: Path
    heard: list[Heard] = field(default_factory=list)
    lags_ms: list[int] = field(default_factory=list)

    @property
    def next_offset(self) -> int:
        manifest = read_manifest(self.folder)
        return manifest.next_offset if manifest else 0

    def wait_for(self, offset: int) -> None:
        """Wait until the archive reaches an offset."""
        eventually(lambda: self.next_offset >= offset, 60)


@contextlib.contextmanager
def following(source: MetadataSource, folder: Path) -> Iterator[Followed]:
    """Follow a cluster in a thread, as the console does."""
    followed, stop = Followed(folder), threading.Event()

    def run() -> None:
        with LogArchive(folder) as archive:

            def heard(one: Heard) -> None:
                followed.heard.append(one)
                if one.step and one.step.batches and one.is_at_end:
                    newest = archive.manifest.newest_at_ms or 0
                    followed.lags_ms.append(int(time.time() * 1000) - newest)

            follow(source, archive, stop, heard)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            yield followed
        finally:
            stop.set()
            running.result(30 * PATIENCE)


def described(cluster: Cluster) -> QuorumDescription:
    """Return the quorum as soon as somebody leads it."""
    return eventually(lambda: _led(cluster), 60)


def _led(cluster: Cluster) -> QuorumDescription | None:
    """Return the quorum; None while nobody leads it, or says so with a fault of any kind."""
    try:
        found = describe_quorum(cluster.connection)
    except ClusterFault as fault:
        if fault.retriable:
            raise
        return None
    return None if found.high_watermark is None else found


def leader(cluster: Cluster) -> Node:
    """Return the node that leads the quorum."""
    return cluster.node(described(cluster).leader_id)


def tool_says(cluster: Cluster, *arguments: str) -> str:
    """Run `kafka-metadata-quorum`; returns what it printed."""
    return run(cluster, QUORUM, *arguments)


def remove_voter(cluster: Cluster, node_id: int, directory_id: str | None) -> None:
    """Remove a voter with Kafka's tool, and wait until it is none."""
    words = [f"--controller-id={node_id}", f"--controller-directory-id={directory_id}"]
    change_voters(lambda: tool_says(cluster, "remove-controller", *words), REMOVED_BEFORE)
    gone = (node_id, directory_id)
    eventually(
        lambda: gone not in {(one.id, one.directory_id) for one in described(cluster).voters}, 60
    )


def change_voters(ask: Callable[[], object], made_before: tuple[str, ...]) -> None:
    """Ask Kafka's tool for a change of voters, again while it names what passes; callers look at the voters.

    A change that was not answered in time may have been made: then the tool says `made_before` of it.
    """

    def is_made() -> bool:
        try:
            ask()
        except AssertionError as error:
            if any(word in str(error) for word in made_before):
                return True
            if not any(word in str(error) for word in NOT_YET):
                raise
            return False
        return True

    eventually(is_made, 60, every=1)


def status_of_tool(cluster: Cluster) -> dict[str, object]:
    """Return `describe --status` of Kafka's tool: numbers and lists by their names."""
    found: dict[str, object] = {}
    for line in tool_says(cluster, "describe", "--status").splitlines():
        if match := re.fullmatch(r"(\w+):\s+(.+)", line):
            name, value = match.groups()
            # A cluster id may begin with a digit, too.
            is_json = name != "ClusterId" and value[0] in "[{-0123456789"
            found[name] = json.loads(value) if is_json else value
    return found


def node_log(node: Node) -> dict[int, bytes]:
    """Return the segments of a node by their first offset."""
    return eventually(lambda: _segments(node.plan.data / LOG))


def _segments(folder: Path) -> dict[int, bytes]:
    # A segment that is deleted is renamed first.
    with contextlib.suppress(FileNotFoundError):
        return {int(path.stem): path.read_bytes() for path in sorted(folder.glob("*.log"))}
    return {}


def batches_of(content: bytes) -> dict[int, bytes]:
    """Return whole batches by their first offset."""
    return {one.header.base_offset: bytes(one.content) for one in checked_batches(content)}


def archived_log(folder: Path) -> bytes:
    """Return the bytes of all segments of an archive."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def assert_same_bytes(folder: Path, node: Node) -> int:
    """Compare an archive with a node's segments, where both have something; returns up to which offset."""
    ours = batches_of(archived_log(folder))
    theirs = batches_of(b"".join(node_log(node).values()))
    both = [base for base in ours if base >= min(theirs)]
    assert both, f"nothing in common with {node.name}"
    for base in both:
        if base <= max(theirs):
            assert ours[base] == theirs.get(base), f"{node.name} has another batch at {base}"
    # Neither has a batch that the other lacks in between.
    last = min(max(ours), max(theirs))
    assert [b for b in both if b <= last] == [b for b in sorted(theirs) if min(both) <= b <= last]
    return last


def settle(cluster: Cluster, followed: Followed) -> None:
    """Write something and wait until it is in the archive and on every node."""
    new_topic(cluster)
    end = described(cluster).high_watermark
    assert end is not None
    followed.wait_for(end)
    running = [n for n in cluster.nodes.values() if n.is_running and not n.is_paused]
    eventually(
        lambda: all(max(batches_of(b"".join(node_log(n).values()))) >= end - 1 for n in running), 60
    )
