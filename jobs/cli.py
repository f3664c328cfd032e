"""The `crosslog` command: every computation from a shell, without the console and its database.

Only `report` asks a console, for what only that one has recorded.

Exit codes: 0 ok, 1 a finding, 2 bad input. With `--json` stdout holds JSON and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence


def build_parser(named: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command; with `named`, only that command has its arguments.

    Imports are here and not at the top, so that `main` sees a Ctrl-C that comes meanwhile.
    """
    from jobs.commands.table import COMMANDS
    from jobs.version import VERSION

    parser = argparse.ArgumentParser(
        prog="crosslog",
        description="Replication and metadata observability for Apache Kafka, from a shell.",
    )
    parser.add_argument("--version", action="version", version=f"crosslog {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, one in COMMANDS.items():
        its_parser = commands.add_parser(name, help=one.help)
        if named in {None, name}:
            one.add_arguments(name, its_parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        if "_ARGCOMPLETE" in os.environ:
            _complete(os.environ["COMP_LINE"])
        from jobs.visible import OutputClosed, visible_output

        try:
            with visible_output():
                given = sys.argv[1:] if arguments is None else arguments
                chosen = build_parser(_named(given)).parse_args(arguments)
                code: int = chosen.run(chosen)
        except OutputClosed as closed:
            return closed.code
    except KeyboardInterrupt:
        sys.stderr.write("crosslog: interrupted\n")
        return 130
    return code


def _named(words: Sequence[str]) -> str:
    """Return the first word that is a command, empty for none: only options without values precede it."""
    from jobs.commands.table import COMMANDS

    return next((word for word in words if word in COMMANDS), "")


def _complete(line: str) -> None:
    """Answer a shell that completes a line, and end the process."""
    import argcomplete

    argcomplete.autocomplete(build_parser(_named(line.split()[1:])))
