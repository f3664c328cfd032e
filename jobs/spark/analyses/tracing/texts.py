"""Texts of single records: a second look at the few that a table lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.descriptions import TopicPartition
from jobs.spark.analyses.records.ranges import Span, Work
from jobs.spark.analyses.records.reading import Reading, SpanReader
from jobs.spark.analyses.records.running import Reduced, Tables, reduce_records
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.tracing.digests import digest

Place = tuple[str, int, int]
# Records so near to each other are read with what is between them.
_NEAR_OFFSETS = 1_000


def add_texts(
    task: AnalysisTask,
    question: Mapping[str, Any],
    reading: Reading,
    done: Sequence[Reduced],
    rows: Sequence[dict[str, Any]],
    options: Mapping[str, Any],
) -> None:
    """Add to rows with `topic`, `partition` and `offset` the text of a role, as a digest unless `shown`.

    `options` also has `role`, the name of the column, and the extractor. A record that is no longer there, or
    has no text, has None. `done` has the topics of all rows.
    """
    spans = {one.work.spans[0].where: one.work.spans[0] for one in done}
    places = [(row["topic"], row["partition"], row["offset"]) for row in rows]
    works = list(works_near(spans, places))
    role, found = options["role"], dict[Place, str]()
    question = {**question, "role": role, "of": [one.to_mapping() for one in works]}
    for one in reduce_records(task, question, reading, works.copy, read_texts, options):
        span, texts = one.work.spans[0], one.tables["texts"].to_pydict()
        for offset, text in zip(texts["offset"], texts["text"], strict=True):
            found[span.topic, span.partition, offset] = text
    for row, place in zip(rows, places, strict=True):
        row[role] = found.get(place)


def works_near(spans: Mapping[TopicPartition, Span], places: Iterable[Place]) -> Iterator[Work]:
    """Yield a work for places that are near to each other, with their `offsets`."""
    wanted: dict[TopicPartition, list[int]] = {}
    for topic, partition, offset in sorted(set(places)):
        wanted.setdefault(TopicPartition(topic, partition), []).append(offset)
    for where, offsets in wanted.items():
        breaks = [n for n in range(1, len(offsets)) if offsets[n] - offsets[n - 1] > _NEAR_OFFSETS]
        for start, end in zip([0, *breaks], [*breaks, len(offsets)], strict=True):
            near = offsets[start:end]
            yield Work((replace(spans[where], start=near[0], end=near[-1] + 1),), {"offsets": near})


def read_texts(readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]) -> Tables:
    """Return the offsets of a work and the texts of their records."""
    offsets, texts = list[int](), list[str]()
    for reader in readers:
        for chunk in reader:
            found = extraction_of(options, chunk, reader.span).texts(options["role"])
            at = chunk.records.offsets  # type: ignore[union-attr]  # only headers have none
            for index in np.flatnonzero(np.isin(at, work.extra["offsets"])):
                text = found.text(int(index))
                if text is not None:
                    offsets.append(int(at[index]))
                    texts.append(text if options["shown"] else digest(text))
    return {
        "texts": pa.table(
            {"offset": pa.array(offsets, pa.int64()), "text": pa.array(texts, pa.string())}
        )
    }
