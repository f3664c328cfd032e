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
# Subcommands stand before the options of these two.
_SUBCOMMAND_FIRST = frozenset({"kafka-cluster"})


def line(*words: str) -> str:
    """Return one line of a shell: each word is quoted where it must be."""
    return " ".join(shlex.quote(word) for word in words)


def standby_order(order: str, broker: object) -> str:
    """Return where crosslog promotes and demotes a fenced standby broker: Kafka has no tool for it."""
    return f"# on the page Promotion of this cluster: {order} broker {broker}"


def write_file(name: str, text: str) -> str:
    """Return a line of a shell that writes a small file."""
    return f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(name)}"


def ids(brokers: Iterable[int]) -> str:
    """Return ids as the tools take them: `1,2,3`."""
    return ",".join(map(str, brokers))


@dataclass(frozen=True, slots=True)
class KafkaTools:
    """How commands reach the cluster.

    `command_config` is a properties file with credentials, empty for none; `folder` is where the scripts are.
    `properties` names the properties file of a node, with `{id}` for its id. `bootstrap_controller` is used
    for the quorum where no broker answers.
    """

    bootstrap_server: str = ""
    bootstrap_controller: str = ""
    command_config: str = ""
    folder: str = "bin"
    properties: str = "config/server.properties"

    def tool(self, name: str, *words: str) -> str:
        """Return a command of the tool `name` (`kafka-topics`) that asks the brokers."""
        reach = ["--bootstrap-server", self.bootstrap_server or _UNKNOWN_SERVER]
        return self._line(name, reach, words)

    def describe_topic(self, topic: str) -> str:
        """Return the command that shows leader, replicas, ISR and ELR of each partition of a topic."""
        return self.tool("kafka-topics", "--describe", "--topic", topic)

    def topic_settings(self, topic: str) -> str:
        """Return the command that shows all settings of a topic with their origin."""
        return self.tool("kafka-configs", *_of_topic(topic), "--describe", "--all")

    def set_topic(self, topic: str, **settings: str) -> str:
        """Return the command that sets settings of a topic; `_` in a name stands for a dot."""
        given = ",".join(f"{name.replace('_', '.')}={value}" for name, value in settings.items())
        return self.tool("kafka-configs", *_of_topic(topic), "--alter", "--add-config", given)

    def unset_topic(self, topic: str, *names: str) -> str:
        """Return the command that takes settings of a topic back; it fails where one is not set."""
        return self.tool(
            "kafka-configs", *_of_topic(topic), "--alter", "--delete-config", ",".join(names)
        )

    def unset_broker(self, broker: int, *names: str) -> str:
        """Return the command that takes dynamic settings of a broker back; it fails where one is not set."""
        of_broker = ["--entity-type", "brokers", "--entity-name", str(broker)]
        names_given = ",".join(names)
        return self.tool("kafka-configs", *of_broker, "--alter", "--delete-config", names_given)

    def broker_settings(self, broker: int) -> str:
        """Return the command that shows the dynamic settings of a broker, its throttles among them."""
        of_broker = ["--entity-type", "brokers", "--entity-name", str(broker)]
        return self.tool("kafka-configs", *of_broker, "--describe")

    def elect(self, topic: str, partition: int, *, is_unclean: bool = False) -> str:
        """Return the command that elects a leader: the preferred replica, or one that may lack records."""
        kind = "unclean" if is_unclean else "preferred"
        which = ["--topic", topic, "--partition", str(partition)]
        return self.tool("kafka-leader-election", "--election-type", kind, *which)

    def elect_all_preferred(self) -> str:
        """Return the command that gives leadership back to every preferred replica that is in sync."""
        return self.tool(
            "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions"
        )

    def reassign(
        self,
        wanted: Mapping[tuple[str, int], Sequence[int]],
        file: str = "reassignment.json",
        throttle_bytes: int | None = None,
    ) -> tuple[str, str]:
        """Return the commands that write a reassignment and begin it."""
        limit = [] if throttle_bytes is None else ["--throttle", str(throttle_bytes)]
        name = "--reassignment-json-file"
        begin = self.tool("kafka-reassign-partitions", name, file, "--execute", *limit)
        return write_file(file, reassignment_json(wanted)), begin

    def verify_reassignment(self, file: str = "reassignment.json") -> str:
        """Return the command that says whether a reassignment is complete; it also lifts its throttle."""
        words = ["--reassignment-json-file", file, "--verify"]
        return self.tool("kafka-reassign-partitions", *words)

    def cancel_reassignment(self, file: str = "reassignment.json") -> str:
        """Return the command that takes a reassignment back."""
        words = ["--reassignment-json-file", file, "--cancel"]
        return self.tool("kafka-reassign-partitions", *words)

    def list_reassignments(self) -> str:
        """Return the command that shows what is being reassigned now."""
        return self.tool("kafka-reassign-partitions", "--list")

    def log_dirs(self, topic: str, brokers: Iterable[int]) -> str:
        """Return the command that shows size and lag of a topic's replicas on brokers, and dead disks."""
        asked = ids(brokers)
        which = ["--broker-list", asked] if asked else []
        return self.tool("kafka-log-dirs", "--describe", *which, "--topic-list", topic)

    def brokers(self) -> str:
        """Return the command that shows all registered brokers, fenced ones with their state."""
        return self.tool("kafka-cluster", "list-endpoints", "--include-fenced-brokers")

    def end_offsets(self, topic: str, partition: int) -> str:
        """Return the command that shows a partition's end offset, as consumers see it: the high watermark."""
        which = ["--topic-partitions", f"{topic}:{partition}", "--time", "latest"]
        return self.tool("kafka-get-offsets", *which)

    def quorum(self, what: str = "--status") -> str:
        """Return the command that shows the quorum; controllers are asked where one is known."""
        if not self.bootstrap_controller:
            return self.tool("kafka-metadata-quorum", "describe", what)
        reach = ["--bootstrap-controller", self.bootstrap_controller]
        return self._line("kafka-metadata-quorum", reach, ("describe", what))

    def start_server(self, node: int) -> str:
        """Return the command that starts a node, for its own machine."""
        return line(self._script("kafka-server-start"), "-daemon", self._properties_of(node))

    def stop_server(self, node: int) -> str:
        """Return the command that stops a node with a controlled shutdown, for its own machine."""
        return line(self._script("kafka-server-stop"), f"--node-id={node}")

    def _properties_of(self, node: int) -> str:
        return self.properties.replace("{id}", str(node))

    def _script(self, name: str) -> str:
        return f"{self.folder}/{name}.sh"

    def _line(self, name: str, reach: Sequence[str], words: Sequence[str]) -> str:
        # kafka-get-offsets and all others of Kafka 4.2 and later know this one name.
        options = [*reach]
        if self.command_config:
            options += ["--command-config", self.command_config]
        if name in _SUBCOMMAND_FIRST:
            return line(self._script(name), words[0], *options, *words[1:])
        return line(self._script(name), *options, *words)


def _of_topic(topic: str) -> list[str]:
    return ["--entity-type", "topics", "--entity-name", topic]


def reassignment_json(wanted: Mapping[tuple[str, int], Sequence[int]]) -> str:
    """Return the JSON of kafka-reassign-partitions: which brokers each partition is to have, leader first."""
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(brokers)}
        for (topic, number), brokers in wanted.items()
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))
