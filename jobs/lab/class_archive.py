"""Where the class-data archive of a Kafka node stands: with it, a node starts in half the time.

A JVM that finds the archive missing, stale or made by another JVM simply loads its classes as usual.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from jobs.lab import fetch
from jobs.lab.java import Java


def archive_path(java: Java) -> Path:
    """Return where the archive for this Java stands; it fits these jars in this folder only."""
    key = hashlib.sha256(f"{java.version}\n{fetch.class_path()}".encode()).hexdigest()[:16]
    return fetch.kafka_folder() / f"classes-{key}.jsa"


def java_options(java: Java) -> list[str]:
    """Return the options that let a JVM use the archive; none while there is no archive."""
    path = archive_path(java)
    if not path.exists():
        return []
    return [
        f"-XX:SharedArchiveFile={path}",
        "-Xshare:auto",
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
    ]
