"""The `crosslog` command: every computation from a shell, without the console and its database.

Exit codes: 0 ok, 1 a finding, 2 bad input. With `--json` stdout holds JSON and nothing else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jobs.commands import drift, replicate, translate
from jobs.lab import cli as lab_cli
from jobs.version import VERSION

OK, FINDING, BAD_INPUT = 0, 1, 2


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command; each room adds its own commands."""
    parser = argparse.ArgumentParser(
        prog="crosslog",
        description="Replication and metadata observability for Apache Kafka, from a shell.",
    )
    parser.add_argument("--version", action="version", version=f"crosslog {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    replicate.add_parser(commands)
    drift.add_parser(commands)
    translate.add_parser(commands)
    lab_cli.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    chosen = build_parser().parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("crosslog: interrupted\n")
        return 130
    return code
