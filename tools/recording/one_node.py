"""One real node of a lab to record from, and Kafka's tools run beside it."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.lab.cluster import Cluster
from jobs.lab.errors import LabError
from jobs.lab.lab import Lab
from jobs.lab.node import Node
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port


@contextmanager
def one_node(
    kafka: str, formatted: Sequence[str] | None = None, **settings: Any
) -> Iterator[Cluster]:
    """Start a single node in a temporary folder; it has stopped when the context ends.

    `settings` are those of a `ClusterPlan`. Without ZooKeeper the quorum is as the lab makes it, or a
    static one that is formatted with the arguments `formatted`.
    """

    def plans(port: int) -> list[ClusterPlan]:
        plan = ClusterPlan("one", 1, port, kafka=kafka, **settings)
        voters = {"controller.quorum.voters": f"1@{plan.address('CONTROLLER', 1)}"}
        return [
            plan if formatted is None else replace(plan, overrides={**plan.overrides, **voters})
        ]

    with tempfile.TemporaryDirectory(prefix="crosslog-recording-") as folder:
        lab = Lab(Path(folder), plans(find_base_port(plans)))
        cluster = lab.cluster("one")
        node = cluster.node(1)
        if formatted is not None:
            node.write_files()
            words = ("-t", str(cluster.cluster_id), "-c", str(node.properties), *formatted)
            run_tool(node, "kafka.tools.StorageTool", "format", *words)
        with lab:
            yield cluster


def run_tool(node: Node, main: str, *words: str) -> str:
    """Return what one of Kafka's tools prints; raises `LabError` with its end where the tool fails."""
    quiet = node.plan.folder / "log4j2-tool.properties"
    with node.jvm.start_tool(main, words, logging=quiet) as tool:
        said, _ = tool.communicate()
    if tool.returncode != 0:
        raise LabError(f"{main} of Kafka {node.jvm.release.version} failed: {said.strip()[-600:]}")
    return said
