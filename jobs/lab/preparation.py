"""Everything that stands ready before the first node starts: Java, Kafka's jars, the class archive."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from pathlib import Path

from jobs.lab import class_archive, fetch
from jobs.lab.cluster import Cluster
from jobs.lab.errors import LabError
from jobs.lab.java import Java, find_java
from jobs.lab.jvm import KafkaJvm
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port

logger = logging.getLogger(__name__)


def kafka_jvm() -> KafkaJvm:
    """Return how Kafka's classes are run, after fetching and making what is missing.

    Raises `JavaMissing` or `FetchFailed`.
    """
    java = find_java()
    fetch.fetch_jars(java)
    if not class_archive.archive_path(java).exists():
        make_class_archive(java)
    return KafkaJvm(java, fetch.class_path(), class_archive.java_options(java))


def make_class_archive(java: Java) -> None:
    """Make the class archive out of a rehearsal: one small node that starts and stops; about 8 s.

    A lab works without the archive, only slower, so a failure is logged and nothing more.
    """
    sys.stderr.write("making the class archive of Kafka (once, about 10 s)\n")
    path = class_archive.archive_path(java)
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=path.parent) as folder:
        made = Path(folder) / "classes.jsa"
        try:
            _rehearse(
                KafkaJvm(java, fetch.class_path(), [f"-XX:ArchiveClassesAtExit={made}"]),
                Path(folder),
            )
            made.replace(path)
        except (OSError, LabError, subprocess.SubprocessError) as error:
            logger.warning(
                "no class archive was made, nodes will start more slowly reason=%s", error
            )


def _rehearse(recording: KafkaJvm, folder: Path) -> None:
    """Run one node from format to stop; only the node records, the formatting before it does not."""
    plain = KafkaJvm(recording.java, recording.class_path)
    base_port = find_base_port(lambda base: [ClusterPlan("rehearsal", 1, base)])
    plan = ClusterPlan("rehearsal", 1, base_port)
    Cluster(plan, folder / "cluster", plain).format()
    cluster = Cluster(plan, folder / "cluster", recording)
    try:
        cluster.start_nodes()
        cluster.wait_until_serving()
        cluster.node(1).stop(timeout_s=60)
    finally:
        cluster.kill()
