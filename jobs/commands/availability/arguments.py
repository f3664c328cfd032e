"""The arguments of the commands about availability; what runs them is imported by the command itself."""

from __future__ import annotations

import argparse
from typing import Any

from jobs.availability.designer.requirements import LossAllowed, ObserverSupport, WritableAfter
from jobs.commands import command


def design(parser: argparse.ArgumentParser) -> None:
    """Print the cheapest placement that fulfils the requirements, the reason for each number, the failures
    that it survives (by crosslog what-if), the alternatives, and the commands; nothing is changed.

    Options override the file. Exit codes: 0 designed, 1 no placement fulfils the requirements (the closest
    one is printed), 2 bad input.
    """
    command.add_path(parser, "file", "FILE.json", "requirements (docs/formats.md)", nargs="?")
    _add_requirements(parser)
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", default="", help="for commands")
    parser.add_argument(
        "--command-config", metavar="FILE", default="", help="credentials for commands"
    )
    command.add_json(parser)


def _add_requirements(parser: argparse.ArgumentParser) -> None:
    site = "a site with its brokers; without brokers (hub=) a witness for one controller; repeat it"
    command.add_repeated(parser, "--site", "NAME=ID,ID", site)
    standby = "a broker that is (or shall be) a fenced standby; repeat it"
    command.add_repeated(parser, "--standby", "ID", standby, int)
    parser.add_argument("--rpo", choices=list(LossAllowed), help="what may be lost with a site")
    parser.add_argument("--rto-s", metavar="SECONDS", type=float, help="writes resume within")
    after = "writes resume automatically after the loss of it"
    parser.add_argument("--writable-after", choices=list(WritableAfter), help=after)
    parser.add_argument("--observers", choices=list(ObserverSupport), help="support for observers")
    parser.add_argument("--topic", help="the topic's name, for commands")
    parser.add_argument("--partitions", metavar="N", type=int, help="default 1")
    parser.add_argument("--preferred-site", metavar="NAME", help="site of the leaders")
    majority = "of two sites, the one with the majority of the voters"
    parser.add_argument("--majority-site", metavar="NAME", help=majority)
    parser.add_argument("--most-copies", metavar="N", type=int, help="replicas and observers")
    parser.add_argument("--voters", metavar="N", type=int, help="controllers that vote")
    timeout = "broker.session.timeout.ms of the brokers; default 9000"
    parser.add_argument("--session-timeout-ms", metavar="MS", type=int, help=timeout)
    command.add_flag(parser, "--existing-topic", "print commands that move an existing topic")


class _Lose(argparse.Action):
    """Keep losses in the order in which they are written, whatever kind they are of."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        from jobs.availability.what_if.steps import Loss

        kind = str(option_string).removeprefix("--lose-")
        if kind == "rack":
            loss = Loss(racks=frozenset({values}))
        elif not values.isascii() or not values.isdecimal() or len(values) > 10:  # noqa: PLR2004
            parser.error(f"argument {option_string}: {values!r} is no id of a node")
        elif kind == "broker":
            loss = Loss(brokers=frozenset({int(values)}))
        else:
            loss = Loss(controllers=frozenset({int(values)}))
        namespace.losses = [*namespace.losses, loss]


def what_if(parser: argparse.ArgumentParser) -> None:
    """Simulate losses of a cluster that a file describes (docs/formats.md; also what `crosslog state
    --json`, `kcat -L -J` and `kafka-topics.sh --describe` print).

    Several happen one after the other, in the order given; --together makes them one. Exit codes: 0 nothing
    is known to stop or to be lost, 1 something is, 2 bad input.
    """
    command.add_path(parser, "file", "FILE", "the cluster; - reads it from standard input")
    for kind, metavar in (("rack", "R"), ("broker", "N"), ("controller", "N")):
        parser.add_argument(
            f"--lose-{kind}",
            metavar=metavar,
            action=_Lose,
            default=argparse.SUPPRESS,
            help=f"a {kind} that is lost, at once with all it holds; may be given again",
        )
    command.add_flag(parser, "--together", "all losses happen at one moment")
    command.add_flag(parser, "--unclean", "then elect a leader uncleanly where there is none")
    each = "each loss by itself (without losses: every rack, broker and controller), with sums only"
    command.add_flag(parser, "--matrix", each)
    parser.add_argument("--topic", metavar="T", help="print partitions of this topic only")
    command.add_json(parser)
    parser.set_defaults(losses=[])
