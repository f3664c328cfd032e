"""The `crosslog` command: every computation from a shell, without the console and its database.

Only `report` asks a console, for what only that one has recorded.

Exit codes: 0 ok, 1 a finding, 2 bad input. With `--json` stdout holds JSON and nothing else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from jobs.version import VERSION


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command; each room adds its own commands.

    They are imported here and not at the top, so that `main` sees a Ctrl-C that comes meanwhile.
    """
    from jobs.commands import analysis, report, streams
    from jobs.commands.availability import design, what_if
    from jobs.commands.quorum import (
        dump_log,
        follow_metadata,
        history,
        quorum_change,
        state,
        voters,
    )
    from jobs.commands.replication import (
        checkpoints,
        detect_policy,
        drift,
        failover,
        mirror_config,
        replicate,
        translate,
        verify_report,
    )
    from jobs.lab import cli as lab_cli

    parser = argparse.ArgumentParser(
        prog="crosslog",
        description="Replication and metadata observability for Apache Kafka, from a shell.",
    )
    parser.add_argument("--version", action="version", version=f"crosslog {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for one in (
        replicate,
        drift,
        translate,
        checkpoints,
        failover,
        verify_report,
        mirror_config,
        detect_policy,
        design,
        follow_metadata,
        history,
        state,
        dump_log,
        voters,
        quorum_change,
        what_if,
        streams,
        report,
    ):
        one.add_parser(commands)
    analysis.add_parsers(commands)
    lab_cli.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        from jobs.visible import OutputClosed, visible_output

        try:
            with visible_output():
                chosen = build_parser().parse_args(arguments)
                code: int = chosen.run(chosen)
        except OutputClosed as closed:
            return closed.code
    except KeyboardInterrupt:
        sys.stderr.write("crosslog: interrupted\n")
        return 130
    return code
