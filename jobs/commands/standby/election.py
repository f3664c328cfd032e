"""`crosslog standby elect`: leaders for partitions that have none, after a site was lost."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.elections import Election, hold_election, plan_election
from jobs.cluster.admin.elections import ElectionType
from jobs.commands.standby.output import NOT_DONE, OK, ActionPrinter
from jobs.quorum.log.source import read_source_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the order."""
    parser.add_argument("--topic", metavar="T", action="append", help="of these topics only (all)")
    parser.add_argument(
        "--unclean",
        action="store_true",
        help="also a replica that was out of the ISR: records that it lacks are lost",
    )


def elect(arguments: argparse.Namespace) -> int:
    """Hold the elections, or say which would be held."""
    kind = ElectionType.UNCLEAN if arguments.unclean else ElectionType.PREFERRED
    found = asyncio.run(_run(arguments.cluster, kind, arguments.topic, is_real=arguments.yes))
    told = ActionPrinter(arguments)
    if not found.partitions:
        return told.say("Every partition has a leader.", found.to_mapping())
    told.say(found.sentence, found.to_mapping())
    return OK if found.is_well else NOT_DONE


async def _run(path: Path, kind: ElectionType, topics: Any, *, is_real: bool) -> Election:
    source = read_source_file(path)
    async with ClusterConnections(source.connection, source.controllers).cluster() as cluster:
        if is_real:
            return await hold_election(cluster, kind, topics)
        return await plan_election(cluster, kind, topics)
