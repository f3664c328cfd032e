"""The table of commands: name, one line of help, and where its arguments are.

It imports none of them, so that `crosslog` starts at once; a command is imported when it is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import NamedTuple

from jobs.spark.analyses.kinds import ANALYSES, LISTED

_ANALYSES = "jobs.commands.arguments"
# By module of their arguments, in the order in which they are listed.
_ROOMS = (
    ("jobs.commands.replication.arguments", {
        "replicate": "replicate topics from one cluster to another until stopped",
        "drift": "compare remote topics with their source topics",
        "translate": "translate offsets to the target or back, from a dump or an archive of offset syncs",
        "checkpoints": "write checkpoints of groups for a flow, without replicating records",
        "failover": "move consumer groups to a flow's target, or back",
        "verify-report": "check the signature of a failover's report",
        "mirror-config": "explain and check a configuration of MirrorMaker 2",
        "detect-policy": "detect MirrorMaker 2's replication policy from topic names",
    }),
    ("jobs.commands.availability.arguments", {
        "design": "design a placement: replicas, observers, min.insync.replicas, controllers per site",
    }),
    ("jobs.commands.quorum.arguments", {
        "follow-metadata": "keep a cluster's metadata log in a folder, as it is written",
        "import-metadata": "take a node's log folder, or a tar or zip of it, into an archive",
        "history": "print the change history of partitions with causes, from a metadata log",
        "state": "print what a cluster was at an offset or a time, from a metadata log",
        "dump-log": "print the records of metadata log segments and snapshots, and of other internal topics",
        "voters": "show the voters of a KRaft quorum over time, from a folder of its metadata log",
        "quorum-change": "plan a change of a KRaft quorum's voters: safe single steps with Kafka's commands",
    }),
    ("jobs.commands.availability.arguments", {
        "what-if": "simulate the loss of brokers, racks or controllers: effects on partitions and quorum",
    }),
    ("jobs.commands.arguments", {
        "streams": "print where Kafka Streams applications run their tasks, and who serves a key",
        "report": "a report of a period, from what a console has recorded",
    }),
)  # fmt: skip


class Command(NamedTuple):
    """A command: the module of its arguments has a function of its name, which adds them to a parser.

    The docstring of that function is the description of the command; the module of the command's name beside
    it has a `run`. `kind` is that of an analysis, whose arguments the function `analysis` adds.
    """

    module: str
    help: str
    kind: str = ""

    def add_arguments(self, name: str, parser: argparse.ArgumentParser) -> None:
        """Import the arguments of the command and add them."""
        word = "analysis" if self.kind else name.replace("-", "_")
        add = getattr(import_module(self.module), word)
        parser.description = add.__doc__
        parser.set_defaults(run=partial(_run, f"{self.module.rpartition('.')[0]}.{word}"))
        add(parser, *([ANALYSES[self.kind]] if self.kind else []))


def _run(module: str, arguments: argparse.Namespace) -> int:
    code: int = import_module(module).run(arguments)
    return code


COMMANDS: Mapping[str, Command] = {
    **{name: Command(module, text) for module, listed in _ROOMS for name, text in listed.items()},
    **{one.command: Command(_ANALYSES, one.question, kind) for kind, one in LISTED.items()},
    "lab": Command("jobs.lab.cli", "run real Kafka clusters on this machine"),
}
