"""The dead letters among records, by step and error, and the newest of them: in tasks and in the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.cluster.client import ClusterClient
from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Work, newest, pieces, spans_of, topics_named
from jobs.spark.analyses.records.reading import Reading, SpanReader
from jobs.spark.analyses.records.running import Tables, connections_of, notes_of, reduce_records
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.tracing.digests import digest
from jobs.tracing.extractors.columns import ABSENT, Extraction
from jobs.tracing.extractors.slices import Codebook, Slices
from jobs.tracing.replay.headers import COUNT
from jobs.wire.rebatch.columns import RecordColumns, header_slices
from jobs.wire.rebatch.table import Int64s

CHOSEN = ("step", "error", "original_topic")
MOST_GROUPS = 2_000
_REST = "(others)"
# Longer texts of steps, errors and topics are cut (names of topics are not longer), and longer messages.
_LONGEST, _LONGEST_MESSAGE = 249, 500
# The end of the year 9999: later times are unknown.
_LAST_MS = 253_402_300_799_999
# So many small tables are kept before they are put together.
_MOST_PARTS = 50
_MOST_PROBLEMS = 10
_SUMS = {"letters": "sum", "first_ms": "min", "last_ms": "max", "attempts": "max", "replays": "max"}


class Letters(NamedTuple):
    """Dead letters as rows, the newest first, and their groups; `chosen`: how many there are."""

    letters: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    records: int
    chosen: int
    notes: tuple[str, ...]


def read_letters(task: AnalysisTask, kind: str, arguments: Mapping[str, Any], most: int) -> Letters:
    """Read the topics and range that arguments name; return the newest `most` dead letters."""
    connections, given = connections_of(task, "cluster"), task.resources["extractor"]
    wanted = {name: arguments.get(name) for name in (*CHOSEN, "ids", "messages")}
    reading = Reading(connections, arguments["isolation"] == "read_committed")

    def plan() -> list[Work]:
        with ClusterClient(connections["cluster"], timeout_s=30) as client:
            topics = topics_named(client, arguments["topics"])
            return pieces(newest(spans_of(client, topics, arguments), arguments["most_records"]))

    question, options = {"kind": kind, **arguments, **given}, {**given, **wanted, "most": most}
    reduced = list(reduce_records(task, question, reading, plan, reduce_letters, options))
    told = Counter[str]()
    for one in reduced:
        told.update({row["name"]: row["count"] for row in one.tables["told"].to_pylist()})
    rows = {n: t.to_pylist() for n, t in merged([one.tables for one in reduced], most).items()}
    records, letters, chosen = (told.pop(name, 0) for name in ("records", "letters", "chosen"))
    notes = [*notes_of(reduced)]
    if records > letters:
        notes.append(
            f"{records - letters:,} records are no dead letters by this extractor: they have neither an "
            "error nor an original topic."
        )
    notes += [f"{count:,} records: {one}" for one, count in told.most_common(_MOST_PROBLEMS)]
    return Letters(rows.get("letters", []), rows.get("groups", []), records, chosen, tuple(notes))


def reduce_letters(
    readers: Sequence[SpanReader], _work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return the tables `letters`, `groups` and `told` (counted sentences) of some spans.

    `options`: the extractor, exact texts of `CHOSEN`, `most` letters, and whether `ids` and `messages` are
    shown. A record with an error or an original topic is a dead letter. `replays` is 0 without a count, null
    for one that cannot be read.
    """
    told, parts = Counter[str](), list[Tables]()
    counting = {**options, "extractor": _counting(options["extractor"])}
    for reader in readers:
        for chunk in reader:
            if chunk.records is not None and len(chunk.records):
                parts.append(_tables(reader, chunk, chunk.records, counting, told))
            if len(parts) >= _MOST_PARTS:
                parts = [merged(parts, options["most"])]
    counts = {"name": pa.array(told, pa.string()), "count": pa.array(told.values(), "i8")}
    return {**merged(parts, options["most"]), "told": pa.table(counts)}


def merged(parts: Iterable[Tables], most: int) -> dict[str, pa.Table]:
    """Return the newest letters and the groups of several tables of both; {} without any."""
    found = [one for one in parts if "letters" in one]
    if not found:
        return {}
    letters, groups = (pa.concat_tables(p[n] for p in found) for n in ("letters", "groups"))
    return {"letters": _newest(letters, most), "groups": _merged_groups(groups)}


def _tables(
    reader: SpanReader,
    chunk: Chunk,
    records: RecordColumns,
    options: Mapping[str, Any],
    told: Counter[str],
) -> dict[str, pa.Table]:
    span = reader.span
    found = extraction_of(options, chunk, span)
    is_letter = found.texts("error").is_present | found.texts("original_topic").is_present
    told.update(records=len(records), letters=int(is_letter.sum()))
    letters = _columns(found, records).filter(pa.array(is_letter))
    for name in CHOSEN:
        if options.get(name):
            letters = letters.filter(pc.equal(letters[name], options[name]))
    told.update(found.problems)
    told["chosen"] += len(letters)
    times = {"first_ms": letters["at_ms"], "last_ms": letters["at_ms"]}
    groups = {name: letters[name] for name in ("step", "error", "attempts", "replays")}
    ones = pa.repeat(pa.scalar(1), len(letters))
    top = _newest(letters, options["most"])
    # Of the others, these are not read.
    few = extraction_of(options, Chunk(chunk.batches, records.only(top["row"].to_numpy())), span)
    more = {
        "topic": pa.repeat(span.topic, len(top)),
        "partition": pa.repeat(pa.scalar(span.partition), len(top)),
        "original_partition": _numbers(few.numbers("original_partition")),
        "original_offset": _numbers(few.numbers("original_offset")),
        **{name: pa.array(texts, pa.string()) for name, texts in _shown(few, options)},
    }
    for name, values in more.items():
        top = top.append_column(name, values)
    table = pa.table({**groups, **times, "letters": ones})
    return {"letters": top, "groups": _merged_groups(table)}


def _shown(few: Extraction, options: Mapping[str, Any]) -> Iterator[tuple[str, list[str | None]]]:
    """Yield ids and messages as far as they are shown."""
    ids, messages, rows = (
        few.texts("id"),
        few.texts("error_message"),
        range(len(few.texts("id").at)),
    )
    is_shown = options.get("ids") == "shown"
    texts = map(ids.text, rows)
    yield "id", [t if t is None or is_shown else digest(t) for t in texts]
    found = map(messages.text, rows) if options.get("messages") == "shown" else [None] * len(rows)
    yield "message", [text and text[:_LONGEST_MESSAGE] for text in found]


def _newest(letters: pa.Table, most: int) -> pa.Table:
    order = pc.sort_indices(letters, [("at_ms", "descending"), ("offset", "descending")])
    return letters.take(order.slice(0, most))


def _merged_groups(groups: pa.Table) -> pa.Table:
    """Return groups with each step and error once; of too many, the smallest are one group."""
    found = groups.group_by(["step", "error"]).aggregate(list(_SUMS.items()))
    found = found.rename_columns(["step", "error", *_SUMS])
    found = found.sort_by([("letters", "descending")])
    if len(found) <= MOST_GROUPS:
        return found
    kept, rest = found.slice(0, MOST_GROUPS - 1), found.slice(MOST_GROUPS - 1)
    others = pa.repeat(_REST, len(rest))
    rest = rest.drop_columns(["step", "error"]).append_column("step", others)
    rest = rest.append_column("error", others).select(found.column_names)
    return _merged_groups(pa.concat_tables([kept, rest]))


def _columns(found: Extraction, records: RecordColumns) -> pa.Table:
    times = found.numbers("time")
    times = np.where((times >= 0) & (times <= _LAST_MS), times, ABSENT)
    size = np.maximum(records.key_bytes, 0) + np.maximum(records.value_bytes, 0)
    columns = {
        "row": np.arange(len(records)),
        "offset": records.offsets,
        "at_ms": _numbers(times),
        **{name: _strings(found.texts(name)) for name in CHOSEN},
        "attempts": _numbers(found.numbers("attempt")),
        "replays": _numbers(_replays(found, records)),
        "bytes": size + records.header_bytes,
    }
    return pa.table(columns)


def _replays(found: Extraction, records: RecordColumns) -> Int64s:
    counts = found.numbers("replays")
    _, sizes = header_slices(records, [COUNT])[COUNT]
    return np.where(counts < 0, np.where(sizes < 0, 0, ABSENT), counts)


def _numbers(values: Int64s) -> pa.Array:
    return pa.array(values, mask=values == ABSENT)


def _strings(texts: Slices) -> pa.Array:
    book = Codebook()
    codes = book.codes(texts)
    known = pa.array([text[:_LONGEST] for text in book.texts], pa.string())
    found = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)
    return found.cast(pa.string())


def _counting(extractor: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extractor that knows the header in which redrive counts, before its own count."""
    fields = extractor.get("fields", {})
    own = fields.get("replays")
    counted = f"header:{COUNT} as int" + (f" | {own}" if own else "")
    return {**extractor, "fields": {**fields, "replays": counted}}
