"""Extractors in tasks: made once for the spans of a work, with the schemas that values need."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Span
from jobs.tracing.extractors.columns import Extraction
from jobs.tracing.extractors.decoding import decode_by
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.plain import Decode
from jobs.wire.rebatch.columns import record_columns

KEEP_S = 60


def extraction_of(options: Mapping[str, Any], chunk: Chunk, span: Span) -> Extraction:
    """Return what the extractor among the options of a kind (a mapping) finds in a chunk with records."""
    extractor, decode = _made(json.dumps(options["extractor"]), int(time.monotonic() // KEEP_S))
    records = chunk.records if chunk.records is not None else record_columns([])
    return Extraction(extractor, records, span.topic, span.partition, decode)


@lru_cache(maxsize=4)
def _made(extractor: str, _minute: int) -> tuple[Extractor, Decode | None]:
    """Return an extractor and what decodes for it; a schema that is gone is gone for a minute."""
    made = Extractor.from_mapping(json.loads(extractor))
    return made, decode_by(made.registry)
