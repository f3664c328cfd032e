"""The arguments of `streams`, `report` and each analysis; what runs them is imported by the command."""

from __future__ import annotations

import argparse
from pathlib import Path

from jobs.commands import command
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import PeriodName
from jobs.reports.rendering.formats import Format, Paper
from jobs.spark.analyses.analysis import Analysis, Argument, ArgumentType
from jobs.streams.keys import KeyFormat
from jobs.wire.batches.hashes import Partitioner

_SHOWN = {
    ArgumentType.TEXT: "TEXT",
    ArgumentType.INTEGER: "N",
    ArgumentType.MOMENT: "TIME",
    ArgumentType.LOG: "PATH",
    ArgumentType.FLOW: "FLOW.yaml",
    ArgumentType.CLUSTER: "CLUSTER.yaml",
    ArgumentType.EXTRACTOR: "EXTRACTOR",
    ArgumentType.FILE: "FILE",
}
TOKEN = "CROSSLOG_TOKEN"  # noqa: S105  the name of a variable


def streams(parser: argparse.ArgumentParser) -> None:
    """Print Kafka Streams applications: instances, tasks, stores, lag, findings, and what the application
    itself would answer.

    FILE is a capture of group descriptions (JSON), or the connection to a cluster (YAML). Exit codes: 0 ok,
    1 the application's own answer for the key is wrong, 2 bad input.
    """
    command.add_path(parser, "path", "FILE", "a capture (.json) or a connection")
    parser.add_argument("--application", metavar="ID", help="this application only")
    parser.add_argument("--store", metavar="S", help="who has this store")
    parser.add_argument("--key", metavar="K", help="who serves this key of the store")
    parser.add_argument(
        "--key-format",
        choices=[one.value for one in KeyFormat],
        default=KeyFormat.UTF_8.value,
        help="how the key is written (default: utf-8)",
    )
    parser.add_argument(
        "--partitioner",
        choices=[one.value for one in Partitioner],
        default=Partitioner.MURMUR2.value,
        help="the hash by which the producer placed the key (default: murmur2)",
    )
    searched = "also look the key up in the store's changelog, within half a minute"
    command.add_flag(parser, "--changelog", searched)
    command.add_flag(
        parser, "--balance", "how state and tasks are spread, and what is sound to change"
    )
    command.add_path(parser, "--topology", "FILE", "what Topology#describe() printed")
    command.add_flag(parser, "--probe", "also connect to each endpoint once, from this machine")
    form = parser.add_mutually_exclusive_group()
    command.add_flag(form, "--json", command.ONE_DOCUMENT)
    command.add_flag(form, "--dot", "print the topology as DOT, the language of Graphviz")


def report(parser: argparse.ArgumentParser) -> None:
    """Make a report from what a console has recorded, and write it to a file.

    It shows what the owner of the token may see: a service token in CROSSLOG_TOKEN, or its file in
    CROSSLOG_TOKEN_FILE. Exit codes: 0 written, 1 it could not be made, 2 an argument is wrong.
    """
    parser.add_argument("kind", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--from", dest="start", help="2026-11-16 or 2026-11-16T07:00:00Z")
    parser.add_argument(
        "--to", dest="end", help="the first moment that is not in it; without it now"
    )
    parser.add_argument(
        "--period", choices=[one.value for one in PeriodName], help="instead of --from and --to"
    )
    parser.add_argument(
        "--time-zone", default="UTC", help="of days, weeks and months: Europe/Berlin"
    )
    subject = "a flow or a cluster, can be repeated; without it all that the owner may see"
    command.add_repeated(parser, "--subject", None, subject)
    parser.add_argument("--format", choices=[one.value for one in Format], default="pdf")
    parser.add_argument("--paper", choices=[one.value for one in Paper], default="a4")
    command.add_flag(parser, "--no-before", "without the period before beside it")
    parser.add_argument("--token-file", type=Path, help=f"instead of {TOKEN}: a file that holds it")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the console answers")
    parser.add_argument("--output", type=Path, help="the file; without it named by kind and period")


def analysis(parser: argparse.ArgumentParser, kind: Analysis) -> None:
    """Add what a kind of analysis takes."""
    parser.description = (
        f"{kind.question} {kind.definition} Exit codes: 0 answered, 1 the answer is "
        "incomplete (see its notes) or failed, 2 an argument is wrong."
    )
    for argument in kind.arguments:
        _add(parser, argument, is_positional=argument == kind.positional)
    if _flow_of(kind):
        command.add_path(parser, "--archive", "DIR", "archive of the flow's offset syncs")
    command.add_json(parser, "print the result document")
    command.add_path(parser, "--output", "FOLDER", "keep the tables there, as Parquet")
    kept = "cache the tables of whole logs there, for the next analysis"
    command.add_path(parser, "--histories", "FOLDER", kept)
    parser.set_defaults(analysis=kind)


def _add(parser: argparse.ArgumentParser, argument: Argument, *, is_positional: bool) -> None:
    text = f"{argument.label}. {argument.help}".replace("%", "%%")
    if argument.default is not None:
        text += f" ({argument.default})".replace("%", "%%")
    shown = _SHOWN.get(argument.type)
    if is_positional:
        parser.add_argument("path", metavar=shown, nargs="?", help=text)
        text = "the same, by name"
    parser.add_argument(
        option_of(argument.name),
        dest=f"given_{argument.name}",
        metavar=shown,
        choices=argument.choices or None,
        help=text,
    )


def option_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flow_of(analysis: Analysis) -> Argument | None:
    """Return the flow whose archive `--archive` names; None where no flow is the first argument."""
    first = analysis.positional
    has_archive = first is not None and first.type is ArgumentType.FLOW and first.has_archive
    return first if has_archive else None
