"""`crosslog standby ORDER CLUSTER.yaml`: fenced standby brokers, and the other ways to act, from a shell.

Everything that changes something is a dry run first: only `--yes` does it.
"""

from __future__ import annotations

import argparse
import getpass
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.acting.held_back_replica import HeldBackReplica
from jobs.availability.acting.reassign_to_spare import ReassignToSpare
from jobs.availability.acting.relaxed_min_isr import RelaxMinIsr
from jobs.availability.acting.standby.folder_store import FolderStore
from jobs.availability.acting.standby.promotions import StoreAway
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands.standby import election as standby_election
from jobs.commands.standby import output as standby_words
from jobs.commands.standby import running as standby_running
from jobs.commands.standby.output import BAD_INPUT, NOT_DONE, OK, ActionPrinter
from jobs.json_text import BadJson, parse_json
from jobs.quorum.log.source import read_source_file

_LONGEST_ID = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "standby",
        help="promote and demote fenced standby brokers; act on a shrunken ISR of plain Kafka",
        description="Fenced standby brokers (experimental, opt-in, dedicated brokers) and three other ways "
        "to act on a shrunken ISR, through the public protocol only. Whatever changes something is a dry run "
        "until --yes is given. Exit codes: 0 done, or it could be done; 1 refused or not done; 2 bad input.",
    )
    orders = parser.add_subparsers(title="orders", metavar="ORDER", required=True)
    _add_reads(orders)
    _add_promotions(orders)
    _add_others(orders)
    standby_running.add_parser(orders, _add)


_Orders = argparse._SubParsersAction  # noqa: SLF001  no public name
_Run = Callable[[argparse.Namespace], int]


def _add(
    orders: _Orders[argparse.ArgumentParser], name: str, run: _Run, text: str, *, acts: bool = True
) -> argparse.ArgumentParser:
    parser = orders.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("cluster", metavar="CLUSTER.yaml", type=Path, help="how it is reached")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--store", metavar="FOLDER", type=Path, help="where promotions are kept")
    if acts:
        parser.add_argument("--yes", action="store_true", help="do it; without it: a dry run")
    parser.set_defaults(run=_guarded(run))
    return parser


def _add_reads(orders: _Orders[argparse.ArgumentParser]) -> None:
    text = "show the brokers that are set up as standbys, the promotions and the loops"
    _add(orders, "status", status, text, acts=False)


def _add_promotions(orders: _Orders[argparse.ArgumentParser]) -> None:
    promoting = _add(
        orders, "promote", promote, "let a standby broker into the ISR and keep it there"
    )
    promoting.add_argument("--broker", metavar="N", type=_number, required=True)
    promoting.add_argument("--why", metavar="TEXT", default="", help="kept with the promotion")
    promoting.add_argument(
        "--most-lag", metavar="N", type=_number, default=1_000, help="records; refuse beyond (1000)"
    )
    promoting.add_argument(
        "--force", action="store_true", help="also a broker that is behind, or no standby"
    )
    demoting = _add(orders, "demote", demote, "fence a promoted standby broker again")
    demoting.add_argument("--broker", metavar="N", type=_number, required=True)
    demoting.add_argument("--why", metavar="TEXT", default="", help="kept with the promotion")
    electing = _add(
        orders,
        "elect",
        standby_election.elect,
        "elect leaders for partitions without one, also UNCLEAN after the loss of a site",
    )
    standby_election.add_arguments(electing)


def _add_others(orders: _Orders[argparse.ArgumentParser]) -> None:
    lifting = _add(orders, "lift", lift, "let a replica in that a throttle holds back (one way)")
    lifting.add_argument("--topic", metavar="T", required=True)
    lifting.add_argument("--broker", metavar="N", type=_number, required=True)
    moving = _add(orders, "reassign", reassign, "make replicas on a spare broker")
    moving.add_argument(
        "--partition", metavar="T-N", type=_partition, action="append", required=True
    )
    moving.add_argument("--to", metavar="N", type=_number, required=True, help="the spare broker")
    moving.add_argument("--from", metavar="N", type=_number, dest="replaced", help="who is gone")
    relaxing = _add(orders, "relax", relax, "lower min.insync.replicas of a topic for a while")
    relaxing.add_argument("--topic", metavar="T", required=True)
    relaxing.add_argument("--to", metavar="N", type=_number, required=True)
    relaxing.add_argument(
        "--hold-s",
        metavar="S",
        type=_number,
        default=60,
        help="put it back when every ISR was large enough for so long (60); it waits for that",
    )
    relaxing.add_argument(
        "--leave", action="store_true", help="do not wait, and do not put it back"
    )
    for parser in (lifting, moving, relaxing):
        text = "take it back: the JSON that was printed as `undo` when it was done"
        parser.add_argument("--undo", metavar="JSON", type=_undo, help=text)


def status(arguments: argparse.Namespace) -> int:
    """Show standbys, promotions and loops; 1 when something is wrong with them."""
    return standby_words.show_status(
        connections_of(arguments), store_of(arguments), as_json=arguments.json
    )


def promote(arguments: argparse.Namespace) -> int:
    """Promote one broker through the store, where loops find it."""
    actor = FencedStandby(
        connections_of(arguments),
        arguments.broker,
        store_of(arguments),
        asked_by=_who(),
        why=arguments.why,
        most_lag_records=arguments.most_lag,
        is_forced=arguments.force,
    )
    return ActionPrinter(arguments).run(actor)


def demote(arguments: argparse.Namespace) -> int:
    """Demote one broker; a dry run says what is held."""
    store = store_of(arguments)
    actor = FencedStandby(
        connections_of(arguments), arguments.broker, store, asked_by=_who(), why=arguments.why
    )
    known = store.read().of_broker(arguments.broker)
    told = ActionPrinter(arguments)
    if known is None:
        return told.say_no(f"Broker {arguments.broker} is not promoted by crosslog.")
    if not arguments.yes:
        sentence = f"Broker {arguments.broker} would be fenced and leave every ISR; see --yes."
        return told.say(sentence, {"promotion": standby_words.promotion_mapping(known)})
    return told.outcome(actor.revert({"promotion_id": known.promotion_id}))


def lift(arguments: argparse.Namespace) -> int:
    """Lift the throttle of a held-back replica."""
    return ActionPrinter(arguments).run(
        HeldBackReplica(connections_of(arguments), arguments.topic, arguments.broker)
    )


def reassign(arguments: argparse.Namespace) -> int:
    """Make replicas on a spare broker."""
    partitions = tuple(arguments.partition)
    actor = ReassignToSpare(connections_of(arguments), partitions, arguments.to, arguments.replaced)
    return ActionPrinter(arguments).run(actor)


def relax(arguments: argparse.Namespace) -> int:
    """Lower min.insync.replicas, wait for the ISR, and put it back."""
    actor = RelaxMinIsr(connections_of(arguments), arguments.topic, arguments.to)
    return ActionPrinter(arguments).run(actor, standby_running.puts_back(actor, arguments))


def connections_of(arguments: argparse.Namespace) -> ClusterConnections:
    """Return the way to the cluster; raises `InvalidFields`."""
    source = read_source_file(arguments.cluster)
    return ClusterConnections(source.connection, source.controllers)


def store_of(arguments: argparse.Namespace) -> FolderStore:
    """Return the folder with the promotions of the cluster; raises `InvalidFields`."""
    if arguments.store is not None:
        return FolderStore(arguments.store)
    home = os.environ.get("CROSSLOG_HOME") or Path.home() / ".local" / "share" / "crosslog"
    return FolderStore(Path(home) / "standby" / connections_of(arguments).alias)


def _guarded(run: _Run) -> _Run:
    def guarded(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except InvalidFields as error:
            for name, text in error.errors.items():
                sys.stderr.write(f"{arguments.cluster}: {name}: {text}\n")
            return BAD_INPUT
        except ClusterFault as fault:
            return ActionPrinter(arguments).fault(fault)
        except StoreAway as error:
            sys.stderr.write(f"{error}\n")
            return NOT_DONE

    return guarded


def _who() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _LONGEST_ID:
        raise argparse.ArgumentTypeError(f"{text!r}: a number is wanted")
    return int(text)


def _undo(text: str) -> dict[str, Any]:
    try:
        found = parse_json(text)
    except BadJson as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError("the object that was printed as `undo` is wanted")
    return found


def _partition(text: str) -> TopicPartition:
    topic, dash, number = text.rpartition("-")
    if not dash or not topic:
        raise argparse.ArgumentTypeError(
            f"{text!r}: a topic and a number are wanted, as in orders-3"
        )
    return TopicPartition(topic, _number(number))


__all__ = ["OK", "add_parser"]
