"""The arguments of the commands about replication; what runs them is imported by the command itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from jobs.commands import command
from jobs.commands.quorum.arguments import parse_time
from jobs.replication.failover.model import Untranslated
from jobs.replication.mirror_config.values import ExportForm


def replicate(parser: argparse.ArgumentParser) -> None:
    """Run replication flows in the foreground: one as an application of its own, several in one engine.

    Ctrl-C stops them cleanly. Exit codes: the worst of all flows.
    """
    command.add_path(parser, "flows", "FLOW.yaml", "flows; see docs/automation.md", nargs="+")
    until = "end when the offsets that the source has at the start are copied"
    command.add_flag(parser, "--until-caught-up", until)
    command.add_json(parser, "print progress as JSON lines")
    parser.add_argument(
        "--run-dir",
        type=Path,
        help="keep spec, log and result in this folder; several flows: run-NAME in it",
    )


def drift(parser: argparse.ArgumentParser) -> None:
    """Compare partitions, configs and ACLs of a flow's topics on both clusters.

    Changes nothing. Exit codes: 0 no drift, 1 drift, 2 the comparison failed.
    """
    command.add_flow(parser)
    command.add_json(parser, "print the report as JSON")


def translate(parser: argparse.ArgumentParser) -> None:
    """Print the range of target offsets of a source offset, beside MirrorMaker 2's own answer.

    Exit codes: 0 printed, 2 the file or an offset is wrong.
    """
    syncs = parser.add_mutually_exclusive_group(required=True)
    command.add_path(syncs, "--syncs", "FILE.jsonl", "a dump of offset syncs")
    command.add_path(syncs, "--archive", "DIR", "the archive of a flow's syncs")
    parser.add_argument("--topic", help="the topic's name on the source")
    parser.add_argument("--partition", type=int)
    parser.add_argument("--offset", type=int, help="the offset on the source")
    many = "many offsets instead of one: CSV, JSON, JSON lines, or a Spark checkpoint's offsets"
    command.add_path(parser, "--offsets", "FILE", many)
    command.add_flag(parser, "--reverse", "the offsets are the target's; say the source's")
    refine_ = "where the bounds do not meet, compare the records between them on both clusters of this flow"
    command.add_path(parser, "--refine", "FLOW.yaml", refine_)
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=parse_time,
        help="of an archive: what was known then, 2026-03-31T12:00:00Z",
    )
    _add_facts(parser)
    command.add_json(parser, "print one JSON document, or one a line for --offsets")


def _add_facts(parser: argparse.ArgumentParser) -> None:
    gapless = (
        "remote partitions have one writer, no transactions, no record twice, and no compaction"
    )
    command.add_flag(parser, "--target-has-no-gaps", gapless)
    command.add_flag(parser, "--same-topic", "the source topic was never deleted and re-created")
    command.add_flag(
        parser,
        "--all-changes-told",
        "crosslog alone copied it: there is a sync wherever the difference of the offsets changes; not "
        "true of a dump, which has no headers, where records had a crosslog.chain",
    )


def checkpoints(parser: argparse.ArgumentParser) -> None:
    """Translate the offsets of a flow's groups and write them as MirrorMaker 2's checkpoints to the target,
    and to its groups where the flow sets sync_group_offsets.

    A running flow of crosslog does this itself; this command is for a flow of MirrorMaker 2 whose
    checkpoints are turned off. Exit codes: 0 done, 1 some offsets could not be read, 2 the file is wrong.
    """
    command.add_flow(parser)
    command.add_flag(parser, "--once", "one round, instead of until Ctrl-C")
    command.add_json(parser, "print a JSON document per round")


def failover(parser: argparse.ArgumentParser) -> None:
    """Plan the offsets at which consumer groups resume on the target of a flow (with --back: on the source),
    with proof, pre-checks and the records that are reprocessed.

    Without --rehearse or --apply only the plan is printed. Share groups that match a pattern are reported
    and excluded. Exit codes: 0 passed, 1 blocked, refused or failed, 2 bad input.
    """
    command.add_flow(parser)
    command.add_repeated(parser, "--group", "G", "a name or pattern; again for more")
    command.add_repeated(parser, "--topic", "T", "only these topics; default: all")
    command.add_flag(parser, "--back", "from the target back to the source")
    reverse = "the flow of the opposite direction, for records that were written there meanwhile"
    command.add_path(parser, "--reverse-flow", "FLOW.yaml", reverse)
    parser.add_argument(
        "--untranslated", choices=[one.value for one in Untranslated], default="refuse",
        help="untranslatable partitions: block (default), start at the earliest offset, or set nothing",
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    command.add_flag(what, "--rehearse", "dry run: change nothing; groups that can move")
    command.add_flag(what, "--apply", "set the offsets")
    command.add_path(
        what, "--undo", "FILE", "roll back: restore the offsets that --apply saved there"
    )
    save = "where --apply saves previous offsets; default: failover-<time>.json here"
    command.add_path(parser, "--save", "FILE", save)
    command.add_flag(parser, "--even-if-moved", "roll back although a group has committed since")
    command.add_path(parser, "--report", "FILE", "write the signed report there")
    command.add_json(parser)


def verify_report(parser: argparse.ArgumentParser) -> None:
    """Check the signature of the JSON form of a report.

    Exit codes: 0 it fits, 1 it does not, 2 the file is no report or cannot be read.
    """
    command.add_path(parser, "report", "FILE", "the report as JSON")
    key = (
        "the public key of the installation; without it only changes are found, and not who signed"
    )
    command.add_path(parser, "--key", "FILE.pem", key)
    same = "an HTML or PDF form that must say the same; again for more"
    command.add_repeated(parser, "--same", "FILE", same, Path)
    command.add_json(parser)


def mirror_config(parser: argparse.ArgumentParser) -> None:
    """Print the effective configuration of mm2.properties, Connect connectors in JSON or Strimzi's
    KafkaMirrorMaker2 in YAML, each value with its origin, and what is wrong with it.

    Secrets are never printed. Exit codes: 0 nothing to do, 1 a warning or an error, 2 bad input.
    """
    command.add_path(parser, "files", "FILE", nargs="+")
    parser.add_argument(
        "--flow", metavar="A->B", help="only this flow, also when it is not enabled"
    )
    command.add_flag(parser, "--lint", "print findings only")
    command.add_flag(
        parser, "--defaults", "also print defaults, and values that only repeat another one"
    )
    command.add_repeated(parser, "--brokers", "ALIAS=N", "how many brokers a cluster has")
    command.add_repeated(
        parser, "--topics", "ALIAS=FILE", "names of a cluster's topics, one a line"
    )
    parser.add_argument(
        "--export",
        choices=[form.value for form in ExportForm],
        help="print the configuration in another form; what does not carry over goes to standard error",
    )
    command.add_json(parser)


def detect_policy(parser: argparse.ArgumentParser) -> None:
    """Read the names of a cluster's topics, one a line (kafka-topics.sh --list), and say which policies
    explain them, with evidence.

    Exit codes: 0 there is one, 1 nothing tells, 2 the file cannot be read.
    """
    command.add_path(parser, "--topics", "FILE", "names, one a line", required=True)
    command.add_json(parser)
