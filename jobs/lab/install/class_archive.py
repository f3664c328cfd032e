"""The class-data archive of a Kafka node: with it, a node starts in half the time.

A JVM that finds the archive stale or made by another JVM loads its classes as usual. A JVM that
finds it cut short crashes, so its size is part of its name and an archive of another size is not used.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from jobs.lab.install.java import Java
from jobs.lab.install.releases import KafkaRelease


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
