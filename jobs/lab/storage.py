"""Formatting the log directories of a cluster, and remembering which ids they were given."""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from jobs.lab.errors import LabError
from jobs.lab.node import Node
from jobs.lab.properties import logging_configuration
from jobs.lab.security import scram_arguments

_TOOL = "kafka.tools.StorageTool"


@dataclass(slots=True)
class Identity:
    """The ids of a cluster: made before formatting, the same in all its nodes.

    `directory_ids` are those of the first voters; `added_controllers` joined later.
    """

    cluster_id: str
    directory_ids: dict[str, str]
    added_controllers: list[int] = field(default_factory=list)

    @classmethod
    def read_or_make(cls, path: Path, node_ids: Sequence[int]) -> Identity:
        """Return the identity in the file; a new one is written first."""
        if path.exists():
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        identity = cls(new_id(), {str(node_id): new_id() for node_id in node_ids})
        identity.write(path)
        return identity

    def write(self, path: Path) -> None:
        """Replace the file whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        partial.replace(path)


def new_id() -> str:
    """Return a random id in Kafka's form: 22 characters of url-safe base64, never starting with -."""
    text = "-"
    while text.startswith("-"):  # a leading dash would be taken for an option
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text


def format_node(node: Node, identity: Identity) -> None:
    """Format one node with Kafka's own tool; a node that is formatted already stays as it is.

    With ZooKeeper nothing is formatted: the first broker makes the cluster's id.
    """
    if node.is_formatted or node.plan.cluster.has_zookeeper:
        return
    node.write_files()
    quiet = node.plan.folder / "log4j2-tool.properties"
    quiet.write_text(logging_configuration("warn"), encoding="utf-8")
    arguments = ["format", "-t", identity.cluster_id, "-c", str(node.properties)]
    arguments += _quorum_arguments(node, identity)
    with node.jvm.start_tool(_TOOL, arguments, logging=quiet) as tool:
        said, _ = tool.communicate()
    if tool.returncode != 0:
        raise LabError(f"{node.name} could not be formatted: {said.strip()[-600:]}")


def run_side_by_side(steps: Sequence[Callable[[], object]]) -> None:
    """Run steps that mostly wait for a JVM, as many at a time as there are cores; raises the first error."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for done in [pool.submit(step) for step in steps]:
            done.result()


def _quorum_arguments(node: Node, identity: Identity) -> list[str]:
    """Return how the node joins: as one of the first voters, or as an observer that is added later."""
    plan = node.plan.cluster
    release = node.jvm.release
    users = scram_arguments() if plan.is_secure and release.has_scram_in_format else []
    if not release.has_dynamic_quorum:
        return users
    if str(node.plan.node_id) not in identity.directory_ids:
        return ["--no-initial-controllers"]
    voters = ",".join(
        f"{node_id}@{plan.address('CONTROLLER', int(node_id))}:{directory_id}"
        for node_id, directory_id in identity.directory_ids.items()
    )
    return ["--initial-controllers", voters, *users]
