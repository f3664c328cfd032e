"""One real node of a lab to record from."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from jobs.lab.cluster import Cluster
from jobs.lab.errors import LabError
from jobs.lab.lab import Lab
from jobs.lab.node import Node
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port


@contextmanager
def one_node(
    version: str,
    overrides: Mapping[str, str] | None = None,
    *,
    zookeeper: bool = False,
    formatted: Sequence[str] | None = None,
) -> Iterator[Cluster]:
    """Start a single node in a temporary folder; it has stopped when the context ends.

    Without ZooKeeper its quorum is as the lab makes it, or a static one that is formatted with the
    arguments `formatted`.
    """

    def plans(base_port: int) -> list[ClusterPlan]:
        plan = ClusterPlan("recorded", 1, base_port)
        quorum = {"controller.quorum.voters": f"1@{plan.address('CONTROLLER', 1)}"}
        settings = dict(overrides or {}) | ({} if formatted is None else quorum)
        return [
            ClusterPlan("recorded", 1, base_port, (), settings, kafka=version, zookeeper=zookeeper)
        ]

    with tempfile.TemporaryDirectory(prefix="crosslog-recording-") as folder:
        lab = Lab(Path(folder), plans(find_base_port(plans)))
        cluster = lab.cluster("recorded")
        if formatted is not None:
            _format(cluster.node(1), ["-t", str(cluster.cluster_id), *formatted])
        with lab:
            yield cluster


def _format(node: Node, arguments: list[str]) -> None:
    node.write_files()
    words = ["format", "-c", str(node.properties), *arguments]
    with node.jvm.start_tool("kafka.tools.StorageTool", words, logging=node.logging) as tool:
        said, _ = tool.communicate()
    if tool.returncode != 0:
        raise LabError(f"{node.name} could not be formatted: {said.strip()[-600:]}")
