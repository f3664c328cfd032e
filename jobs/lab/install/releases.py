"""The versions of Apache Kafka that a lab can run: what each has, and the SHA-256 of each of its jars."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from jobs.files import cache_folder
from jobs.lab.errors import LabError

KAFKA_VERSION = "4.3.1"
VERSIONS = ("2.8.2", "3.3.2", "3.6.2", "3.9.1", "4.0.2", KAFKA_VERSION)
LOG4J_VERSION = "2.25.4"
_LISTINGS = Path(__file__).with_name("jars")


@dataclass(frozen=True, slots=True)
class KafkaRelease:
    """One version of Apache Kafka; raises `LabError` for one that the lab cannot run."""

    version: str = KAFKA_VERSION
    # Of the artifacts' jars in Maven; "" is the main one, which needs others.
    classifier: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise LabError(
                f"The lab cannot run Kafka {self.version}. It can run {', '.join(VERSIONS)}."
            )

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version."""
        major, minor, _ = self.version.split(".")
        return int(major), int(minor)

    @property
    def has_kraft(self) -> bool:
        """Whether clusters without ZooKeeper are for production (3.3)."""
        return self.number >= (3, 3)

    @property
    def has_zookeeper(self) -> bool:
        """Whether clusters with ZooKeeper exist; 4.0 took them away."""
        return self.number < (4, 0)

    @property
    def has_dynamic_quorum(self) -> bool:
        """Whether voters can be added and removed (KIP-853, 3.9)."""
        return self.number >= (3, 9)

    @property
    def has_scram_in_format(self) -> bool:
        """Whether formatting can put SCRAM users into the metadata log (KIP-900, 3.5)."""
        return self.number >= (3, 5)

    @property
    def artifacts(self) -> tuple[tuple[str, str, str], ...]:
        """What Ivy resolves: organisation, name and version."""
        names = ("kafka_2.13", "connect-mirror", "kafka-tools", "kafka-shell", "kafka-streams")
        kafka = tuple(("org.apache.kafka", name, self.version) for name in names)
        return (*kafka, ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION))

    @property
    def jars(self) -> dict[str, str]:
        """File name -> SHA-256."""
        return _read_listing(self.version)

    @property
    def folder(self) -> Path:
        """The cache folder of this version."""
        return cache_folder() / "kafka" / self.version

    @property
    def jars_folder(self) -> Path:
        """Where the jars are, or will be."""
        return self.folder / "jars"

    @property
    def is_fetched(self) -> bool:
        """Whether all jars are there; their content was compared when they were fetched."""
        folder = self.jars_folder
        return folder.is_dir() and set(self.jars) <= {path.name for path in folder.iterdir()}

    @property
    def class_path(self) -> str:
        """The class path in a fixed order: a class archive fits only one order."""
        return os.pathsep.join(str(self.jars_folder / name) for name in sorted(self.jars))


class TieredStorageJars(KafkaRelease):
    """Kafka's own remote storage of files, LocalTieredStorage: a test jar, apart from the jars of a node.

    Raises `LabError` for a version of which the lab has no listing of it.
    """

    classifier = "test"

    def __post_init__(self) -> None:
        if self.version != KAFKA_VERSION:
            raise LabError(f"The lab has tiered storage with Kafka {KAFKA_VERSION} only.")

    @property
    def artifacts(self) -> tuple[tuple[str, str, str], ...]:
        return (("org.apache.kafka", "kafka-storage", self.version),)

    @property
    def jars(self) -> dict[str, str]:
        return _read_listing(f"{self.version}-tiered")

    @property
    def jars_folder(self) -> Path:
        return self.folder / "tiered"


@cache
def _read_listing(version: str) -> dict[str, str]:
    """Read what `sha256sum` wrote; slf4j bindings to another log library are left out of it."""
    lines = (_LISTINGS / f"{version}.sha256").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}
