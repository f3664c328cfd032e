"""With which release of Kafka a version of a request came; the tables are `kafka_releases.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

# The oldest brokers that answer crosslog at all: ApiVersions 3 (KIP-511).
OLDEST = "2.4"
# Leaders of newer ones ask for no more in-sync replicas than there are (KAFKA-15583).
_BEFORE_LIMIT = "3.6"
TOO_OLD = (
    f"crosslog reads clusters of Kafka {OLDEST} and newer, copies whole batches from 2.7 on, and writes them "
    "exactly once from 2.8 on."
)
# Executors of a cluster have the code in an archive: a path leads to nothing there.
RELEASES: dict[str, Any] = tomllib.loads(
    (files("jobs.cluster.protocol.transport") / "kafka_releases.toml").read_text(encoding="utf-8")
)


def came_with(name: str, version: int) -> str:
    """Return the release with which a version of a request came; `OLDEST` for all older ones."""
    word = f"{name}:{version}"
    both = (*RELEASES["came"].items(), *RELEASES["also_came"].items())
    return next((release for release, came in both if word in came.split()), OLDEST)


def level_limits_min_isr(level: int) -> bool | None:
    """Return whether leaders limit min.insync.replicas; a low metadata.version tells nothing of it."""
    return True if level > RELEASES["levels"][_BEFORE_LIMIT] else None
