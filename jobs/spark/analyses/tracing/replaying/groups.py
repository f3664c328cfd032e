"""Dead letters of works grouped by step and error, over time, and the newest of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.tracing.replaying.letters import letters_in, told_table, with_originals
from jobs.tracing.digests import digest
from jobs.tracing.extractors.columns import Extraction

NEWEST = 1_000
MOST_GROUPS = 2_000
REST = "(others)"
MINUTE_MS = 60_000
_LONGEST_MESSAGE = 500
_PLACE = ("topic", "partition", "offset")
# So many small tables are kept before they are put together.
_MOST_PARTS = 50


def reduce_letters(
    readers: Sequence[SpanReader], _work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return the tables `groups`, `minutes`, `letters` and `told` of some spans."""
    told = Counter[str]()
    parts: dict[str, list[pa.Table]] = {"groups": [], "minutes": [], "letters": []}
    for reader in readers:
        for letters, only in letters_in(reader, options, told):
            if len(letters):
                parts["groups"].append(merged_groups(_as_groups(letters)))
                parts["minutes"].append(merged_minutes(_as_minutes(letters)))
                top = newest(letters)
                parts["letters"].append(_with_texts(top, only(top), options))
            if len(parts["groups"]) >= _MOST_PARTS:
                parts = {name: [_MERGE[name](pa.concat_tables(p))] for name, p in parts.items()}
    tables = {name: _MERGE[name](pa.concat_tables(p)) for name, p in parts.items() if p}
    return {**tables, "told": told_table(told)}


def merged_groups(groups: pa.Table) -> pa.Table:
    """Return groups with each step and error once; of too many, the smallest are one group."""
    order = pc.sort_indices(groups, [("last_ms", "ascending", "at_start")])
    made = [
        ("letters", "sum"),
        ("first_ms", "min"),
        ("last_ms", "max"),
        *((name, "last") for name in _PLACE),
        ("attempts", "max"),
        ("replays", "max"),
    ]
    found = groups.take(order).group_by(["step", "error"], use_threads=False).aggregate(made)
    found = found.rename_columns(["step", "error", *(name for name, _ in made)])
    found = found.sort_by([("letters", "descending")])
    if len(found) <= MOST_GROUPS:
        return found
    rest = found.slice(MOST_GROUPS - 1)
    for name in ("step", "error"):
        at = rest.schema.get_field_index(name)
        rest = rest.set_column(at, name, pa.repeat(REST, len(rest)))
    return merged_groups(pa.concat_tables([found.slice(0, MOST_GROUPS - 1), rest]))


def merged_minutes(minutes: pa.Table) -> pa.Table:
    """Return minutes with each minute and error once."""
    found = minutes.group_by(["minute", "error"]).aggregate([("letters", "sum")])
    return found.rename_columns(["minute", "error", "letters"])


def newest(letters: pa.Table) -> pa.Table:
    """Return the newest letters, latest first."""
    order = pc.sort_indices(letters, [("at_ms", "descending"), ("offset", "descending")])
    return letters.take(order.slice(0, NEWEST))


_MERGE = {"groups": merged_groups, "minutes": merged_minutes, "letters": newest}


def _as_groups(letters: pa.Table) -> pa.Table:
    columns = {name: letters[name] for name in ("step", "error", *_PLACE, "attempts", "replays")}
    ones = pa.repeat(pa.scalar(1), len(letters))
    times = {"first_ms": letters["at_ms"], "last_ms": letters["at_ms"]}
    return pa.table({**columns, **times, "letters": ones})


def _as_minutes(letters: pa.Table) -> pa.Table:
    minutes = pc.divide(letters["at_ms"], MINUTE_MS)
    ones = pa.repeat(pa.scalar(1), len(letters))
    return pa.table({"minute": minutes, "error": letters["error"], "letters": ones})


def _with_texts(letters: pa.Table, found: Extraction, options: Mapping[str, Any]) -> pa.Table:
    """Add id and message, as far as they are to be shown: the bytes are there only now."""
    ids, messages, rows = found.texts("id"), found.texts("error_message"), range(len(letters))
    shown_ids: list[str | None] = [ids.text(row) for row in rows]
    if options["ids"] != "shown":
        shown_ids = [None if text is None else digest(text) for text in shown_ids]
    shown: list[str | None] = [None] * len(rows)
    if options["messages"] == "shown":
        texts = (messages.text(row) for row in rows)
        shown = [None if text is None else text[:_LONGEST_MESSAGE] for text in texts]
    kept = with_originals(letters, found).append_column("id", pa.array(shown_ids, pa.string()))
    return kept.append_column("message", pa.array(shown, pa.string()))
