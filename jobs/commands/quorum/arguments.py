"""The arguments of the commands about metadata; what runs them is imported by the command itself."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jobs.commands import command
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.history.changes import ChangeKind
from jobs.wire.topics.internal_logs import LogKind

if TYPE_CHECKING:
    from jobs.quorum.image.point_in_time import LogPosition


def follow_metadata(parser: argparse.ArgumentParser) -> None:
    """Follow the metadata log of a KRaft cluster into an archive, with at most a second of lag, and resume
    after any outage.

    Without the right to read it (CLUSTER_ACTION) the quorum is polled instead. Exit codes: 0 stopped or
    caught up, 1 the log was not read, 2 the file is wrong or the archive cannot be used.
    """
    command.add_path(parser, "connection", "CONNECTION.yaml")
    command.add_path(parser, "--into", "FOLDER", required=True)
    command.add_flag(
        parser, "--until-caught-up", "end when all committed records are in the archive"
    )
    command.add_json(parser, "print a JSON document per change")


def import_metadata(parser: argparse.ArgumentParser) -> None:
    """Take the metadata log of a node into an archive: a mounted or copied folder, a tar, tar.gz or zip.

    Existing batches are compared, missing ones are added. Exit codes: 0 done, 1 a part could not be imported
    or differs, 2 there is no log, or the archive cannot be used.
    """
    command.add_path(parser, "sources", "PATH", nargs="+")
    command.add_path(parser, "--into", "FOLDER", required=True)
    command.add_json(parser, "print a JSON document per source")
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace) -> int:
    from jobs.commands.quorum.follow_metadata import run_import

    return run_import(arguments)


def history(parser: argparse.ArgumentParser) -> None:
    """Print every change of partitions (leader, ISR, ELR, replicas, epochs) with its cause, or of brokers,
    topics, configs and the rest.

    Exit codes: 0 printed, 1 a part of the log is missing or damaged, or has records that Kafka would refuse,
    2 there is no such log or topic.
    """
    command.add_path(parser, "path", "PATH", "a __cluster_metadata-0 folder")
    parser.add_argument("--topic", help="of this topic only, and of all that ever had its name")
    parser.add_argument("--partition", type=int, help="of this partition only")
    parser.add_argument("--topic-id", help="of the topic with this id only (22 characters)")
    parser.add_argument(
        "--broker", type=int, help="only what this broker caused, or of this broker"
    )
    parser.add_argument(
        "--kind",
        choices=(*(kind.value for kind in ChangeKind), "all"),
        default=ChangeKind.PARTITION.value,
        help="changes of what (partition)",
    )
    command.add_json(parser, "print one JSON document a line")


def state(parser: argparse.ArgumentParser) -> None:
    """Print brokers, topics, partitions, configs, features and voters as they were at a moment, or what
    differs between two moments.

    Exit codes: 0 printed, 1 a part of the log before it is missing or damaged, 2 there is no such log or
    moment.
    """
    command.add_path(parser, "path", "PATH", "a __cluster_metadata-0 folder")
    moment = parser.add_mutually_exclusive_group()
    moment.add_argument(
        "--offset",
        dest="moment",
        metavar="N",
        type=parse_offset,
        help="with the record at this offset as the last one",
    )
    moment.add_argument(
        "--time",
        dest="moment",
        metavar="ISO",
        type=parse_time,
        help="before the first record that is later than this time (UTC where no zone is named)",
    )
    parser.add_argument(
        "--diff-to",
        metavar="N|ISO",
        type=parse_moment,
        help="print what is different at this moment instead",
    )
    parser.add_argument("--topic", help="of this topic only")
    command.add_json(parser)


def dump_log(parser: argparse.ArgumentParser) -> None:
    """Print every batch and record, with secrets redacted and damage marked.

    Exit codes: 0 all was read, 1 a part is damaged, 2 a file cannot be opened or is no log.
    """
    command.add_path(parser, "files", "FILE", nargs="+")
    parser.add_argument(
        "--records",
        choices=("auto", *LogKind),
        default="auto",
        help="the internal topic of the records; default: from the folder's name, else the metadata log",
    )
    command.add_flag(parser, "--strict", "stop where Kafka's own reader would: at the first damage")
    command.add_json(parser, "print a JSON document a line")


def voters(parser: argparse.ArgumentParser) -> None:
    """Read a __cluster_metadata-0 folder, or the log directory that it lies in, and print who the voters
    were from which offset on, what changed, elections, and what looks wrong.

    Exit codes: 0 nothing looks wrong, 1 something does, 2 it is no such folder.
    """
    command.add_path(parser, "path", "PATH")
    parser.add_argument(
        "--high-watermark",
        metavar="OFFSET",
        type=int,
        help="what is committed (kafka-metadata-quorum.sh describe --status): files do not tell it",
    )
    command.add_flag(parser, "--elections", "print every election, too")
    command.add_json(parser)


def quorum_change(parser: argparse.ArgumentParser) -> None:
    """Print the steps to another voter set, one at a time, with the exact commands and the state before and
    after each; nothing is changed.

    Exit codes: 0 there is a safe way, 1 refused (with the reason), 2 bad input.
    """
    what = "a folder of the metadata log, or a JSON file with the voters (crosslog voters --json)"
    command.add_path(parser, "path", "PATH_OR_JSON", what)
    _add_requirements(parser)
    _add_facts(parser)
    command.add_json(parser)


def _add_requirements(parser: argparse.ArgumentParser) -> None:
    command.add_repeated(parser, "--add", "ID[@HOST:PORT[:DIRECTORY_ID]]", "a new voter")
    command.add_repeated(parser, "--remove", "ID", "a voter that is to leave")
    command.add_repeated(
        parser, "--replace", "ID[:NEW_DIRECTORY_ID]", "a voter that gets another disk"
    )
    wanted = "number of voters at a site; --add names the candidates, --site the site of each"
    command.add_repeated(parser, "--layout", "SITE=N", wanted)


def _add_facts(parser: argparse.ArgumentParser) -> None:
    command.add_repeated(parser, "--dead", "ID", "a voter that does not answer")
    command.add_repeated(parser, "--site", "ID=SITE", "rack or data centre of a node")
    parser.add_argument(
        "--leader", metavar="ID", type=int, help="the current leader: it is changed last"
    )
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", default="", help="a broker")
    parser.add_argument(
        "--properties",
        metavar="FILE",
        default=Tools().properties,
        help="the properties of a controller, {id} is replaced by its id; default %(default)s",
    )
    parser.add_argument(
        "--client-properties", metavar="FILE", default="", help="credentials for other commands"
    )


def parse_offset(text: str) -> LogPosition:
    """Return the moment of an offset; raises argparse.ArgumentTypeError."""
    from jobs.quorum.image.point_in_time import LogPosition

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no offset: it is 0 or more")
    return LogPosition(offset=int(text))


def parse_time(text: str) -> LogPosition:
    """Return the moment of a time; without a zone it is UTC. Raises argparse.ArgumentTypeError."""
    from jobs.quorum.image.point_in_time import LogPosition

    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-22T03:04:05Z"
        raise argparse.ArgumentTypeError(f"{text!r} is no ISO 8601 time like {example}") from None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return LogPosition(timestamp_ms=round(at.timestamp() * 1000))


def parse_moment(text: str) -> LogPosition:
    """Return the moment of an offset or a time; raises argparse.ArgumentTypeError."""
    return parse_offset(text) if text.isdecimal() else parse_time(text)
