"""A Spark data source: the partition records of archived metadata segments, decoded in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from jobs.quorum.log_folder import read_folder
from jobs.quorum.segment_ranges import (
    RANGE_BYTES,
    SCHEMA,
    SegmentRange,
    partition_records,
    ranges_of,
    read_range,
)

# What `Spark` calls the types of the schema's columns.
_TYPES = {
    "int64": "bigint",
    "int32": "int",
    "int16": "smallint",
    "int8": "tinyint",
    "bool": "boolean",
    "list<item: int32>": "array<int>",
}


class MetadataLog(DataSource):
    """`spark.read.format("kraft-metadata-log").option("path", FOLDER).load()` after it was registered.

    A row is a PartitionRecord or PartitionChangeRecord as it stands in the log (`segment_ranges.SCHEMA`),
    also of an aborted transaction. Option `range_bytes` (32 MiB): how much a task decodes.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kraft-metadata-log"

    def schema(self) -> str:
        """Return the columns in Spark's words."""
        return ", ".join(
            f"`{field.name}` {_TYPES.get(str(field.type), 'string')}" for field in SCHEMA
        )

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads it."""
        return _Reader(dict(self.options))


class _Range(InputPartition):
    def __init__(self, one: SegmentRange) -> None:
        super().__init__(one)


class _Reader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._folder = options["path"]
        self._range_bytes = int(options.get("range_bytes", RANGE_BYTES))

    def partitions(self) -> Sequence[InputPartition]:
        """Find the borders, on the driver."""
        return [
            _Range(one)
            for segment in read_folder(Path(self._folder)).segments
            for one in ranges_of(segment.path, segment.base_offset, self._range_bytes)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Decode one range, on a worker."""
        for columns in read_range(partition.value):
            if columns.tables.partitions.shape[1]:
                yield partition_records(columns)
