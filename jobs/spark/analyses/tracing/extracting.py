"""What an extractor finds in a chunk, inside of a task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Span
from jobs.tracing.extractors.columns import Extraction
from jobs.tracing.extractors.extractor import Extractor
from jobs.wire.rebatch.columns import RecordColumns


def extraction_of(options: Mapping[str, Any], chunk: Chunk, span: Span) -> Extraction:
    """Return what the extractor of the options finds in the records of a chunk."""
    records: RecordColumns = chunk.records  # type: ignore[assignment]  # only headers have none
    extractor = _extractor(json.dumps(options["extractor"], sort_keys=True))
    return Extraction(extractor, records, span.topic, span.partition, None)


@lru_cache(maxsize=8)
def _extractor(text: str) -> Extractor:
    return Extractor.from_mapping(json.loads(text))
