"""`claim-checks`: pointers to objects of a store, objects without pointer, and large inline records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Chart,
    ChartType,
    Column,
    Table,
)
from jobs.spark.analyses.analysis import ColumnType as Type
from jobs.spark.analyses.records.ranges import CLUSTER, MOST_RECORDS, RANGE, TOPICS, check_range
from jobs.spark.analyses.tracing.object_store import allowed_store, list_objects
from jobs.spark.analyses.tracing.outbox import IDS, TOPIC, columns, places

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask
    from jobs.spark.analyses.tracing.claim_pointers import Claims
    from jobs.spark.analyses.tracing.object_store import Objects

_LONGEST_FAULT = 300
_BOUNDS = ("from", "to", "from_offset", "to_offset")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the pointers first, then list the store: what is written meanwhile is in the listing."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.claim_pointers import Claims, read_claims
    from jobs.spark.analyses.tracing.planning import EVENT_OFFSETS, notes_of_problems
    from jobs.spark.analyses.tracing.texts import add_texts
    from jobs.tracing.extractors.extractor import Extractor

    given = task.resources["extractor"]
    store = allowed_store(arguments["store"]) if arguments["store"] else None
    options = {
        **given,
        "store": store,
        "has_flag": Extractor.from_mapping(given["extractor"]).has("is_claim"),
        "large_bytes": arguments["large_bytes"],
    }
    connections = connections_of(task, "cluster")
    is_committed = arguments["isolation"] == "read_committed"
    reading = Reading(connections, is_committed, unit_offsets=EVENT_OFFSETS)
    question = {"kind": ANALYSIS.kind, "extractor": given["extractor"], **arguments}
    works = _plan(connections["cluster"], arguments)
    done = list(reduce_records(task, question, reading, works.copy, read_claims, options))
    claims = Claims(done)
    objects, fault = _listed(task, store)
    is_shown = arguments["ids"] == "shown"
    unknown = fault or _why_no_orphans(done, arguments, claims)
    tables = claims.compare(objects, is_shown=is_shown, with_orphans=not unknown)
    wanted = {**options, "role": "uri", "shown": is_shown}
    add_texts(task, question, reading, done, tables["dangling"], wanted)
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, tables[table.name]))
    facts = {"topics": len(tables["topics"]), **claims.facts}
    problems = notes_of_problems(done)
    return Answer(facts, (*notes_of(done), *problems, *_notes(claims.facts, fault, unknown)))


def _plan(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import topics_named
    from jobs.spark.analyses.tracing.planning import whole_works

    with ClusterClient(connection, timeout_s=30) as client:
        return whole_works(client, topics_named(client, arguments["topics"]), arguments)


def _listed(task: AnalysisTask, store: str | None) -> tuple[Objects | None, str]:
    """Return the objects of a store, or why they are not known."""
    if store is None:
        return None, "no store was given"
    task.report("Listing objects")
    try:
        return list_objects(store), ""
    except OSError as error:
        return None, f"the store could not be listed: {str(error)[:_LONGEST_FAULT]}"


def _checked(arguments: Mapping[str, Any]) -> None:
    check_range(arguments)
    if arguments["store"]:
        allowed_store(arguments["store"])


def _why_no_orphans(done: Sequence[Reduced], arguments: Mapping[str, Any], claims: Claims) -> str:
    """Return why a pointer may exist that was not read; empty: none does."""
    spans = [one.work.spans[0] for one in done]
    outcomes = [outcome for one in done for outcome in one.outcomes]
    without_uri, unclear = claims.total("without_uri"), claims.total("unclear")
    found = {
        "only a range of the topics was read": any(arguments[name] is not None for name in _BOUNDS)
        or any(span.is_cut for span in spans),
        "open transactions hold back records": any(one.work.extra["is_held"] for one in done),
        "some records could not be read": not all(one.is_whole for one in outcomes),
        f"{without_uri:,} claim checks have no URI that could be read": without_uri > 0,
        f"{unclear:,} pointers are no s3://bucket/key, and may lead into the store": unclear > 0,
    }
    return next((text for text, is_true in found.items() if is_true), "")


def _notes(facts: Mapping[str, Any], fault: str, unknown: str) -> Iterator[str]:
    if fault:
        yield f"Whether the objects of pointers exist is unknown: {fault}."
    elif facts["not_checked"]:
        yield f"{facts['not_checked']:,} pointers lead to other places: they were not checked."
    if facts["dangling"]:
        yield (
            "The store was listed after the records were read: an object may have been removed since, "
            "together with its record."
        )
    if unknown:
        yield f"Which objects have no pointer is unknown: {unknown}."
    elif facts["orphans"]:
        yield "Objects without pointer have none in the topics that were read; others may have one."


_SIZES = tuple(
    Column(
        f"object_{name}", f"Object size, {title}", Type.BYTES, "Listed, else as the pointer has it."
    )
    for name, title in (("p50", "median"), ("p95", "95 %"), ("p99", "99 %"), ("max", "max"))
)
_STORE_HELP = (
    "s3://bucket/prefix, within the stores that the installation allows. Default: none is read."
)
ANALYSIS = Analysis(
    kind="claim-checks",
    title="Claim checks",
    arguments=(
        CLUSTER,
        TOPICS,
        Argument(
            "extractor", ArgumentType.EXTRACTOR, "Extractor", "Where the URI is.", default="large-message"
        ),
        Argument("store", ArgumentType.TEXT, "Object store", _STORE_HELP),
        Argument(
            "large_bytes", ArgumentType.INTEGER, "Large", "Values of more bytes should be claim checks.",
            default=1_000_000, least=1, most=2**31 - 1,
        ),
        IDS,
        *RANGE[:-1],
        replace(MOST_RECORDS, most=MOST_RECORDS.default),
    ),
    tables=(
        Table(
            "topics",
            "Topics",
            (
                TOPIC,
                *columns(Type.INTEGER, records="Records"),
                Column("bytes", "Bytes", Type.BYTES, "Keys, values, headers; uncompressed."),
                *columns(Type.INTEGER, claims="Claim checks"),
                Column("claim_share", "Claim checks, share", Type.RATIO, "Of the records."),
                Column("object_bytes", "Objects", Type.BYTES, "Of all pointers, where a size is known."),
                Column("object_share", "Objects, share", Type.RATIO, "Of the bytes with the objects."),
                *_SIZES,
                Column("dangling", "Without object", Type.INTEGER, "Empty: unknown."),
                *columns(Type.INTEGER, large="Large inline records"),
                *columns(Type.BYTES, large_bytes="Large inline", largest="Largest inline value"),
                *columns(Type.INTEGER, largest_partition="Largest: partition"),
                *columns(Type.OFFSET, largest_offset="Largest: offset"),
            ),
        ),
        Table(
            "dangling",
            "Pointers without object",
            (*places(), Column("uri", "URI", Type.TEXT, "Empty: it could not be read again.")),
        ),
        Table(
            "orphans",
            "Objects without pointer",
            (
                *columns(Type.TEXT, uri="URI"),
                *columns(Type.BYTES, bytes="Size"),
                *columns(Type.MOMENT, changed_ms="Written"),
            ),
        ),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "topics", "Claim checks by topic", "topic", "claims"),),
    definition="The store is listed after the pointers were read. Pointers to other places are not checked. "
    "Keys with and without URL encoding are the same. "
    "Objects without pointer are known only if the topics were read as wholes, and if they were written at "
    "least two minutes before. At most 1,000 are listed of each, all are counted.",
    checked=_checked,
)  # fmt: skip
