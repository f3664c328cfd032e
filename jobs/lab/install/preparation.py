"""Everything that is prepared before the first node starts: Java, Kafka's jars, the class archive."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jobs.lab.cluster import Cluster
from jobs.lab.errors import LabError
from jobs.lab.install import fetch
from jobs.lab.install.java import Java, find_java
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.releases import KAFKA_VERSION, KafkaRelease
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port

logger = logging.getLogger(__name__)


def kafka_jvm(version: str = KAFKA_VERSION) -> KafkaJvm:
    """Return how the classes of a Kafka version are run, after fetching and making what is missing.

    Raises `JavaMissing` or `FetchFailed`.
    """
    release = KafkaRelease(version)
    java = find_java()
    fetch.fetch_jars(java, release)
    archive = find_archive(java, release)
    if archive is None:
        with fetch.only_one(release.folder / "classes.lock"):
            archive = find_archive(java, release) or make_class_archive(java, release)
    return _jvm(java, release, options_for(archive))


def make_class_archive(java: Java, release: KafkaRelease) -> Path | None:
    """Make the class archive out of a rehearsal: one small node that starts and stops; about 8 s.

    A lab works without the archive, only slower, so a failure is logged and None returned.
    """
    sys.stderr.write(f"making the class archive of Kafka {release.version} (once, about 10 s)\n")
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=release.folder) as folder:
        made = Path(folder) / "classes.jsa"
        recording = _jvm(java, release, [f"-XX:ArchiveClassesAtExit={made}"])
        try:
            _rehearse(recording, Path(folder) / "cluster")
            _try_out(_jvm(java, release, options_for(made)), Path(folder))
            return keep_archive(java, release, made)
        except (OSError, LabError, subprocess.SubprocessError) as error:
            logger.warning(
                "no class archive was made, nodes will start more slowly reason=%s", error
            )
            return None


def _jvm(java: Java, release: KafkaRelease, options: Sequence[str]) -> KafkaJvm:
    return KafkaJvm(java, release.class_path, options, release)


def _try_out(jvm: KafkaJvm, folder: Path) -> None:
    """Raise `LabError` when a JVM does not run with the archive, which may be cut short by a full disk."""
    with jvm.start_tool(
        "kafka.tools.StorageTool", ["random-uuid"], logging=folder / "none"
    ) as tool:
        said, _ = tool.communicate()
    if tool.returncode != 0:
        raise LabError(
            f"a JVM with the new class archive ends with {tool.returncode}: {said[-200:]}"
        )


def _rehearse(recording: KafkaJvm, folder: Path) -> None:
    """Run one node from format to stop; only the node records, the formatting before it does not."""
    plain = replace(recording, options=())
    version = recording.release.version
    base_port = find_base_port(lambda base: [ClusterPlan("rehearsal", 1, base, kafka=version)])
    plan = ClusterPlan("rehearsal", 1, base_port, kafka=version)
    Cluster(plan, folder, plain).format()
    cluster = Cluster(plan, folder, recording)
    try:
        cluster.start_nodes()
        cluster.wait_until_serving()
        cluster.node(1).stop(timeout_s=60)
    finally:
        cluster.kill()


# The class-data archive of a Kafka node: with it, a node starts in half the time.
#
# A JVM that finds the archive stale or made by another JVM loads its classes as usual. A JVM that
# finds it cut short crashes, so its size is part of its name and an archive of another size is not used.


def find_archive(java: Java, release: KafkaRelease) -> Path | None:
    """Return the archive that fits this Java and these jars in this folder; None when there is none."""
    for path in release.folder.glob(f"classes-{_key(java, release)}-*.jsa"):
        if path.stem.rpartition("-")[2] == str(path.stat().st_size):
            return path
    return None


def keep_archive(java: Java, release: KafkaRelease, made: Path) -> Path:
    """Move an archive that was just made (and tried) to its place."""
    name = f"classes-{_key(java, release)}-{made.stat().st_size}.jsa"
    return made.replace(release.folder / name)


def options_for(archive: Path | None) -> list[str]:
    """Return the options that let a JVM use the archive."""
    if archive is None:
        return []
    return [
        f"-XX:SharedArchiveFile={archive}",
        "-Xshare:auto",
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
    ]


def _key(java: Java, release: KafkaRelease) -> str:
    return hashlib.sha256(f"{java.version}\n{release.class_path}".encode()).hexdigest()[:16]
