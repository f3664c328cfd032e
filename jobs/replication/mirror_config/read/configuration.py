"""Read a configuration of MirrorMaker 2, in whatever form it is written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.replication.mirror_config.read.connect_json import read_connect, read_connectors
from jobs.replication.mirror_config.read.mm2_properties import read_dedicated, read_entries
from jobs.replication.mirror_config.read.strimzi import read_strimzi
from jobs.replication.mirror_config.read.text_input import InputFile, check_bytes
from jobs.replication.mirror_config.values import (
    Deployment,
    Finding,
    MirrorFlow,
    Pair,
    ordered_pairs,
    pair_name,
)

_YAML = re.compile(
    rb"^(apiVersion\s*:|kind\s*:\s*[\"']?KafkaMirrorMaker2|spec\s*:\s*$)", re.MULTILINE
)
# Blanks of one line only: over all the lines that follow, each empty line would be read again from each.
_STANDALONE = re.compile(rb"^[ \t\f\r]*connector\.class\s*[=:\s]", re.MULTILINE)
_CLUSTERS = re.compile(rb"^[ \t\f\r]*clusters\s*[=:\s]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MirrorConfig:
    """Everything that some files say together."""

    deployments: tuple[Deployment, ...]

    @property
    def flows(self) -> list[MirrorFlow]:
        """The flows of all files; one that is in two files comes twice."""
        return [flow for deployment in self.deployments for flow in deployment.flows]

    @property
    def findings(self) -> list[Finding]:
        """What was noticed while reading."""
        return [finding for deployment in self.deployments for finding in deployment.findings]

    def known_pairs(self) -> list[Pair]:
        """Return every pair that one may ask about: those of the files and all between their clusters."""
        found = [pair for d in self.deployments for pair in (*d.pairs, *ordered_pairs(d.clusters))]
        return list(dict.fromkeys(found))

    def find_pair(self, name: str) -> Pair | None:
        """Return the pair of a name like `A->B`; None when nothing in the files has it."""
        return next((pair for pair in self.known_pairs() if pair_name(pair) == name.strip()), None)


def read_config(files: Iterable[InputFile], wanted: Pair | None = None) -> MirrorConfig:
    """Read files of any form; `wanted` is worked out although it may not be enabled; raises `BadInput`."""
    return MirrorConfig(tuple(read_file(file, wanted) for file in files))


def read_file(file: InputFile, wanted: Pair | None = None) -> Deployment:
    """Read one file; its content says what form it has; raises `BadInput`."""
    content = check_bytes(file)
    if content.lstrip()[:1] in (b"{", b"["):
        return read_connect(file, content)
    if _YAML.search(content):
        return read_strimzi(file, content)
    if _STANDALONE.search(content) and not _CLUSTERS.search(content):
        entries = read_entries(file, content)
        name = next((entry.value for entry in entries if entry.key == "name"), "connector")
        return read_connectors(file.name, [(name, entries)])
    return read_dedicated(file, content, wanted)
