"""Every command of runbooks and designer is taken by Kafka's own tools, and shows what is promised."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.reassign_to_spare import ReassignToSpare
from jobs.availability.acting.relaxed_min_isr import RelaxMinIsr
from jobs.availability.designer.design import design
from jobs.availability.designer.requirements import DesignRequirements, Site, WritableAfter
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.runbooks.runbook import (
    RunbookFacts,
    RunbookStep,
    Trouble,
    TroubleCause,
    runbook,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.cluster import Cluster
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.properties import logging_configuration
from tests.live.topics import wait_until_known
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

TOPIC = "run-books"
MAINS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
}
# For a machine of Kafka, or for crosslog itself, whose orders have tests of their own.
NOT_OF_KAFKAS_TOOLS = ("bin/kafka-server-", "# ")


@dataclass
class Shell:
    """Runs lines of a shell as they stand, a class of Kafka in the place of each script; each line once."""

    cluster: Cluster
    folder: Path
    said: dict[str, str] = field(default_factory=dict)

    def run(self, line: str) -> str:
        if line not in self.said or ".json" in line:
            self.said[line] = self._run(line)
        return self.said[line]

    def _run(self, line: str) -> str:
        words = shlex.split(line)
        if words[0] == "printf":
            subprocess.run(["sh", "-c", line], cwd=self.folder, check=True, timeout=60)
            return ""
        name = words[0].removeprefix("bin/").removesuffix(".sh")
        logging = self.folder / "log4j2.properties"
        logging.write_text(logging_configuration("error"), encoding="utf-8")
        done = subprocess.run(
            self.cluster.jvm.command(MAINS[name], words[1:], logging=logging, heap="128m"),
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def shell(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("runbooks", 3, base_port)]

    lab = Lab(tmp_path_factory.mktemp("runbooks"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    yield Shell(lab.cluster("runbooks"), tmp_path_factory.mktemp("shell"))
    lab.kill()


def tools_of(shell: Shell) -> KafkaTools:
    credentials = shell.folder / "my client.properties"
    credentials.write_text("client.id=runbooks\n", encoding="utf-8")
    servers = shell.cluster.bootstrap_servers
    return KafkaTools(servers, command_config=str(credentials))


def describe(topic: str, tools: KafkaTools) -> str:
    return tools.tool("kafka-topics", "--describe", "--topic", topic)


def facts_of(shell: Shell, **changes) -> RunbookFacts:
    """A partition of brokers 1 and 2; that 2 is missing is only said: the tools must take the commands."""
    known = {"replicas": (1, 2), "isr": (1,), "leader": 1, "spares": (3,), "min_insync_replicas": 2}
    return RunbookFacts(TOPIC, 0, tools=tools_of(shell), **(known | changes))


def test_the_designers_commands_make_the_topic(shell: Shell) -> None:
    """Sites a, b and c with a broker each; the runbooks' topic is made by the same designer."""
    sites = tuple(Site(name, (number,)) for number, name in enumerate("abc", start=1))
    made = design(DesignRequirements(sites, topic="designed", partitions=3), tools_of(shell))
    (create,) = [one.text for one in made.commands if one.title == "Create the topic"]
    shell.run(create)
    wait_until_known(shell.cluster.connection, "designed", 3)
    told = shell.run(describe("designed", tools_of(shell)))
    assert "min.insync.replicas=2" in told
    for number, replicas in enumerate(made.assignment):
        assert (
            f"Partition: {number}\tLeader: {replicas[0]}\tReplicas: {','.join(map(str, replicas))}"
            in told
        )


def test_an_existing_topic_is_moved_by_the_designers_commands(shell: Shell) -> None:
    sites = tuple(Site(name, (number,)) for number, name in enumerate("abc", start=1))
    tools = tools_of(shell)
    shell.run(
        tools.tool("kafka-topics", "--create", "--topic", "moved", "--replica-assignment", "1")
    )
    wait_until_known(shell.cluster.connection, "moved", 1)
    wish = DesignRequirements(
        sites, topic="moved", writable_after=WritableAfter.BROKER, is_existing_topic=True
    )
    for group in design(wish, tools).commands:
        if not group.is_file and not group.text.startswith(("#", "crosslog ")):
            for line in group.lines:
                shell.run(line)
    eventually(partial(shows, shell, "moved", "Replicas: 1,2,3"), 30, every=1)


def test_a_dry_run_names_the_commands_that_do_the_same_and_take_it_back(shell: Shell) -> None:
    tools, name = tools_of(shell), "by-hand"
    words = ["--replica-assignment", "1:2", "--config", "min.insync.replicas=2"]
    shell.run(tools.tool("kafka-topics", "--create", "--topic", name, *words))
    wait_until_known(shell.cluster.connection, name, 1)
    doors = ClusterConnections(shell.cluster.connection)
    relaxed = RelaxMinIsr(doors, name, 1).plan()
    copied = ReassignToSpare(doors, (TopicPartition(name, 0),), 3).plan()
    for command, seen in (
        (relaxed.requests[0].command, "min.insync.replicas=1"),
        (relaxed.revert, "min.insync.replicas=2"),
        (copied.requests[0].command, "Replicas: 1,2,3"),
        (copied.revert, "Replicas: 1,2\t"),
    ):
        for line in command.split(" && "):
            shell.run(line)
        eventually(partial(shows, shell, name, seen), 30, every=1)


def shows(shell: Shell, topic: str, seen: str) -> bool:
    return seen in shell._run(describe(topic, tools_of(shell)))


def make_topic(shell: Shell) -> None:
    tools = tools_of(shell)
    words = ["--create", "--if-not-exists", "--topic", TOPIC, "--replica-assignment", "1:2"]
    shell.run(tools.tool("kafka-topics", *words))
    wait_until_known(shell.cluster.connection, TOPIC, 1)


def set_throttles(shell: Shell) -> None:
    """What a reassignment with a throttle that was never verified leaves behind."""
    tools = tools_of(shell)
    for broker, end in ((2, "follower"), (1, "leader")):
        entity = ["--entity-type", "brokers", "--entity-name", str(broker)]
        rate = f"{end}.replication.throttled.rate=1000"
        shell.run(tools.tool("kafka-configs", *entity, "--alter", "--add-config", rate))
    entity = ["--entity-type", "topics", "--entity-name", TOPIC]
    lists = ",".join(f"{end}.replication.throttled.replicas=0:1" for end in ("leader", "follower"))
    shell.run(tools.tool("kafka-configs", *entity, "--alter", "--add-config", lists))


@pytest.mark.campaign("drills")
def test_every_command_of_the_runbooks_is_taken_by_kafkas_tools(shell: Shell) -> None:
    make_topic(shell)
    set_throttles(shell)
    # The tool says of a partition that has a leader that no election is needed, and takes the command.
    for step in (*steps(facts_of(shell)), *steps(facts_of(shell, leader=None))):
        for line in step.commands:
            if line.startswith(NOT_OF_KAFKAS_TOOLS):
                continue
            shell.run(line)
            if "--execute" in line:  # the tool begins no reassignment beside another one
                eventually(lambda: is_at_rest(shell), 60, every=1)


def is_at_rest(shell: Shell) -> bool:
    return "No partition reassignments found" in shell._run(
        tools_of(shell).tool("kafka-reassign-partitions", "--list")
    )


# What the commands of checks show, by a part of the line.
SHOWN = {
    "kafka-topics.sh": ("Leader: ", "Replicas: ", "Isr: ", "Elr: "),
    "--include-fenced-brokers": ("unfenced",),
    "kafka-log-dirs.sh": ("offsetLag", '"error":null'),
    "kafka-reassign-partitions.sh": ("",),
    "--describe --all": (
        "follower.replication.throttled.replicas",
        "min.insync.replicas=",
        "unclean.leader.election.enable=",
    ),
    "kafka-metadata-quorum.sh": ("LeaderId:", "MaxFollowerLag:"),
    "kafka-get-offsets.sh": (f"{TOPIC}:0:0",),
}


def test_every_check_of_the_runbooks_shows_what_it_promises(shell: Shell) -> None:
    make_topic(shell)
    checks = {step.check.command for step in steps(facts_of(shell))}
    seen = {part: line for line in checks for part in SHOWN if part in line}
    assert len(checks) == len(seen) == len(SHOWN)
    for part, line in seen.items():
        told = shell.run(line)
        for word in SHOWN[part]:
            assert word in told, line


def steps(facts: RunbookFacts) -> list[RunbookStep]:
    """Each step once whose commands are others, in the order of the runbooks."""
    found = {
        step.commands: step
        for trouble in Trouble
        for cause in TroubleCause
        for step in runbook(trouble, cause, facts).steps
    }
    return list(found.values())
