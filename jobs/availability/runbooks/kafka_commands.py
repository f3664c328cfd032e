"""Commands of Kafka's own tools, filled in and quoted for a shell. Pure.

Source: the tools of Kafka 4.3.1. Before 4.2 kafka-leader-election calls its file of credentials
`--admin.config` and kafka-cluster `--config` (KIP-1147).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_UNKNOWN_SERVER = "HOST:PORT"
_OF_A_MACHINE = frozenset({"kafka-server-start", "kafka-server-stop"})
# Subcommands stand before the options of these two.
_SUBCOMMAND_FIRST = frozenset({"kafka-cluster"})


def line(*words: str) -> str:
    """Return one line of a shell: each word is quoted where it must be."""
    return " ".join(shlex.quote(word) for word in words)


def write_file(name: str, text: str) -> str:
    """Return a line of a shell that writes a small file."""
    return f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(name)}"


def ids(brokers: Iterable[int]) -> str:
    """Return ids as the tools take them: `1,2,3`."""
    return ",".join(map(str, brokers))


@dataclass(frozen=True, slots=True)
class KafkaTools:
    """How commands reach the cluster; `command_config` is a file with credentials, empty for none."""

    bootstrap_server: str = ""
    command_config: str = ""

    def tool(self, name: str, *words: str) -> str:
        """Return a command of a tool like `kafka-topics`, which asks the brokers, or is for a machine."""
        options = ["--bootstrap-server", self.bootstrap_server or _UNKNOWN_SERVER]
        if self.command_config:
            # kafka-get-offsets and all others of Kafka 4.2 and later know this one name.
            options += ["--command-config", self.command_config]
        if name in _OF_A_MACHINE:
            options = []
        before = words[:1] if name in _SUBCOMMAND_FIRST else ()
        return line(f"bin/{name}.sh", *before, *options, *words[len(before) :])

    def set_topic(self, topic: str, **settings: str) -> str:
        """Return the command that sets settings of a topic; `_` in a name becomes a dot."""
        given = ",".join(f"{name.replace('_', '.')}={value}" for name, value in settings.items())
        return self.alter_topic(topic, "--add-config", given)

    def alter_topic(self, topic: str, *words: str) -> str:
        """Return the command that changes settings of a topic as these words say."""
        of_topic = ["--entity-type", "topics", "--entity-name", topic]
        return self.tool("kafka-configs", *of_topic, "--alter", *words)

    def reassign(
        self,
        wanted: Mapping[tuple[str, int], Sequence[int]],
        file: str = "reassignment.json",
    ) -> tuple[str, str]:
        """Return the commands that write a reassignment and begin it."""
        name = "--reassignment-json-file"
        begin = self.tool("kafka-reassign-partitions", name, file, "--execute")
        return write_file(file, reassignment_json(wanted)), begin

    def verify_reassignment(self, file: str = "reassignment.json") -> str:
        """Return the command that says whether a reassignment is complete; it also lifts its throttle."""
        words = ["--reassignment-json-file", file, "--verify"]
        return self.tool("kafka-reassign-partitions", *words)


def reassignment_json(wanted: Mapping[tuple[str, int], Sequence[int]]) -> str:
    """Return the JSON of kafka-reassign-partitions: which brokers each partition is to have, leader first."""
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(brokers)}
        for (topic, number), brokers in wanted.items()
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))
