"""Extraction of chunks in a task, with the extractor that a kind has among its options."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Span
from jobs.tracing.extractors.columns import Extraction
from jobs.tracing.extractors.extractor import Extractor
from jobs.wire.rebatch.columns import record_columns


def extraction_of(options: Mapping[str, Any], chunk: Chunk, span: Span) -> Extraction:
    """Return what `options["extractor"]` finds in a chunk."""
    extractor = _extractor(orjson.dumps(options["extractor"]))
    records = chunk.records if chunk.records is not None else record_columns(())
    return Extraction(extractor, records, span.topic, span.partition, None)


@lru_cache(maxsize=8)
def _extractor(text: bytes) -> Extractor:
    return Extractor.from_mapping(orjson.loads(text))
