"""What Kafka's own tools say of files and partitions, beside what a node's own metadata log says."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.lab.cluster import Cluster
from jobs.lab.properties import logging_configuration
from jobs.quorum.history.changes import AnyChange, PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.image.point_in_time import LogPosition, state_of_folder
from jobs.quorum.log.folder import read_folder
from tests.jobs.quorum.changes import changes_of
from tests.support import NO_COMPILER
from tests.waiting import eventually

DUMP = "org.apache.kafka.tools.DumpLogSegments"
TOPICS = "org.apache.kafka.tools.TopicCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
LOG = "__cluster_metadata-0"
WITHIN_S = 60


def run_tool(kafka, folder: Path, main: str, *arguments: str) -> str:
    """Run a class or a source file of ours; returns its standard output."""
    logging = folder / "log4j2.properties"
    logging.write_text(logging_configuration("error"), encoding="utf-8")
    command = kafka.command(main, list(arguments), logging=logging)
    # Java writes what its locale can: names here are of any language.
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if "jdk.compiler" in done.stderr:
        pytest.skip(NO_COMPILER)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def dump_log(kafka, folder: Path, files: list[Path], decoder: str) -> str:
    """Return what kafka-dump-log prints of these files."""
    names = ",".join(str(path) for path in files)
    return run_tool(kafka, folder, DUMP, decoder, "--files", names)


@dataclass(frozen=True)
class Told:
    """One partition; lists in ascending order, because the tools keep none."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]


def run(cluster: Cluster, main: str, *arguments: str) -> str:
    """Run one of Kafka's tools against all nodes; returns what it printed."""
    quiet = cluster.node(1).plan.folder / "log4j2-tool.properties"
    words = ["--bootstrap-server", cluster.bootstrap_servers, *arguments]
    with cluster.jvm.start_tool(main, words, logging=quiet) as tool:
        said, _ = tool.communicate()
    assert tool.returncode == 0, said
    return said


def make_topic(cluster: Cluster, name: str, *replicas: tuple[int, ...], **configs: str) -> None:
    """Create a topic with these replicas, a partition each."""
    assignment = ",".join(":".join(map(str, one)) for one in replicas)
    words = [f"--config={key.replace('_', '.')}={value}" for key, value in configs.items()]
    run(cluster, TOPICS, "--create", "--topic", name, "--replica-assignment", assignment, *words)


def tool_says(cluster: Cluster, topic: str | None = None) -> dict[tuple[str, int], Told]:
    """Return what `kafka-topics --describe` prints of every partition."""
    return tool_says_with(cluster, TOPICS, topic)


def tool_says_with(
    cluster: Cluster, main: str, topic: str | None = None
) -> dict[tuple[str, int], Told]:
    """Do the same with the class where another version has the tool."""
    one = [] if topic is None else ["--topic", topic]
    found = {}
    for line in run(cluster, main, "--describe", *one).splitlines():
        fields = dict(re.findall(r"(\w+): ?([^\t]*)", line))
        if "Leader" in fields:
            leader = fields["Leader"].strip()
            found[fields["Topic"].strip(), int(fields["Partition"])] = Told(
                leader=int(leader) if leader.lstrip("-").isdecimal() else -1,
                replicas=_ids(fields["Replicas"]),
                isr=_ids(fields["Isr"]),
                elr=_ids(fields.get("Elr", "")),
            )
    return found


def _ids(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(one) for one in re.findall(r"\d+", text)))


def log_folder(cluster: Cluster, node: int) -> Path:
    return cluster.node(node).plan.data / LOG


def image(cluster: Cluster, node: int) -> MetadataImage:
    """Return what a node's own log says now."""
    return state_of_folder(read_folder(log_folder(cluster, node)), LogPosition()).image


def log_says(cluster: Cluster, node: int, topic: str | None = None) -> dict[tuple[str, int], Told]:
    """Return the same as `tool_says` out of a node's own log."""
    return {
        (one.name, number): Told(
            leader=state.leader,
            replicas=tuple(sorted(state.replicas)),
            isr=tuple(sorted(state.isr)),
            elr=tuple(sorted(state.elr)),
        )
        for one, number, state in image(cluster, node).partition_rows()
        if topic in {None, one.name}
    }


def changes(cluster: Cluster, node: int) -> list[AnyChange]:
    """Return everything that a node's log tells, with causes."""
    return list(read_changes(read_folder(log_folder(cluster, node)).records()))


def history(cluster: Cluster, node: int, topic: str, partition: int = 0) -> list[Any]:
    return changes_of(changes(cluster, node), PartitionChange, topic=topic, partition=partition)


def wait_for_log(cluster: Cluster, node: int, topic: str, **wanted: object) -> None:
    """Wait until a node's log says this of partition 0 of a topic."""

    def is_so() -> bool:
        state = image(cluster, node).partition(topic, 0)
        return state is not None and all(
            (set(value) if isinstance(value, tuple | set) else value) == expected
            for value, expected in ((getattr(state, name), want) for name, want in wanted.items())
        )

    eventually(is_so, WITHIN_S, every=0.2)


def assert_tool_agrees(cluster: Cluster, node: int, topic: str | None = None) -> None:
    """Wait until the tool and the log say the same: brokers learn of changes a moment later."""
    eventually(
        lambda: tool_says(cluster, topic) == log_says(cluster, node, topic), WITHIN_S, every=1
    )


def reassign(cluster: Cluster, folder: Path, topic: str, replicas: tuple[int, ...]) -> None:
    """Start moving partition 0 of a topic."""
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}
    file = folder / f"{topic}.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    run(cluster, REASSIGN, "--reassignment-json-file", str(file), "--execute")
