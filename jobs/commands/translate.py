"""`crosslog translate --syncs FILE.jsonl`: where an offset is on the target, from a dump of offset syncs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.sync_dump import BadDump, SyncDump, read_dump
from jobs.replication.sync_history import Certificate, SyncHistory

OK, BAD_INPUT = 0, 2
_FEW = 5


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of `crosslog`."""
    parser = commands.add_parser(
        "translate",
        help="translate an offset to the target, from a dump of an offset-syncs topic",
        description="Say between which offsets of the target a source offset lies, beside MirrorMaker 2's "
        "own answer. Exit codes: 0 it is told, 2 the file or the question is wrong.",
    )
    parser.add_argument("--syncs", metavar="FILE.jsonl", type=Path, required=True, help="the dump")
    parser.add_argument("--topic", required=True, help="the topic's name on the source")
    parser.add_argument("--partition", type=int, required=True)
    parser.add_argument("--offset", type=int, required=True, help="the offset on the source")
    parser.add_argument(
        "--target-has-no-gaps",
        action="store_true",
        help="the remote partition has one writer, no transactions, and is not compacted",
    )
    parser.add_argument(
        "--same-topic",
        action="store_true",
        help="the source topic was never deleted and made anew",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    where = TopicPartition(arguments.topic, arguments.partition)
    try:
        with arguments.syncs.open(encoding="utf-8") as lines:
            dump = read_dump(lines)
        syncs = _syncs_of(dump, where, arguments.offset)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{arguments.syncs}: {error}\n")
        return BAD_INPUT
    for problem, count in dump.refused.most_common():
        sys.stderr.write(f"{arguments.syncs}: passed by {count} records: {problem}\n")
    found = SyncHistory(syncs).translate(
        arguments.offset,
        target_has_no_gaps=arguments.target_has_no_gaps,
        is_same_topic=arguments.same_topic,
    )
    assert found is not None  # noqa: S101  there are syncs
    told = to_mapping(found, mirror_maker_says(syncs, arguments.offset))
    text = json.dumps(told) if arguments.json else "\n".join(_lines(where, arguments.offset, told))
    sys.stdout.write(f"{text}\n")
    return OK


def mirror_maker_says(syncs: Sequence[tuple[int, int]], offset: int) -> int | None:
    """Return MirrorMaker 2's own answer after these syncs."""
    store = OffsetSyncStore()
    store.start(must_read_to_end=False)
    for sync in syncs:
        store.sync(*sync)
    return store.translate(offset)


def to_mapping(found: Certificate, mm2: int | None) -> dict[str, Any]:
    """Return an answer as JSON values."""
    return {
        "lo": found.lo,
        "hi": found.hi,
        "exact": found.exact,
        "mm2": mm2,
        "reason": found.reason,
        "evidence": [sync._asdict() for sync in found.evidence],
    }


def _syncs_of(dump: SyncDump, where: TopicPartition, offset: int) -> list[tuple[int, int]]:
    if offset < 0:
        raise BadDump(f"an offset is 0 or more, not {offset}")
    if where not in dump.syncs:
        known = ", ".join(str(one) for one in sorted(dump.syncs)[:_FEW]) or "no partition at all"
        more = ", ..." if len(dump.syncs) > _FEW else ""
        raise BadDump(f"there is no offset sync of {where}; there are some of {known}{more}")
    return dump.syncs[where]


def _lines(where: TopicPartition, offset: int, told: dict[str, Any]) -> Iterator[str]:
    if told["exact"]:
        yield f"{where} offset {offset} is offset {told['lo']} on the target."
    elif told["hi"] is None:
        yield f"{where} offset {offset} is at offset {told['lo']} on the target or later."
    else:
        yield f"{where} offset {offset} is between {told['lo']} and {told['hi']} on the target."
    yield told["reason"]
    for sync in told["evidence"]:
        yield f"  offset sync {sync['upstream']} -> {sync['downstream']}"
    mm2 = {None: "nothing", -1: "nothing (-1): it keeps no sync that old"}
    yield f"MirrorMaker 2 says {mm2.get(told['mm2'], told['mm2'])}."
