"""What an analysis gets while it runs: Spark, a place for its tables, and whether a stop was requested."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.spark import contract

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Stopped(Exception):
    """Somebody asked the run to stop."""


@dataclass(slots=True)
class AnalysisTask:
    """One analysis under way.

    `tables` is the folder of its answer: in it, a folder of Parquet files for each table. In the folder
    `histories`, tables of whole metadata logs are kept for the next question about it. `resources`: what the
    names among the arguments stand for, by argument, see `ArgumentType`.
    """

    spark: SparkSession
    run_dir: Path
    tables: Path
    histories: Path
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = time.monotonic()

    def report(
        self, message: str, *, done: int | None = None, total: int | None = None, unit: str = ""
    ) -> None:
        """Report the current step, and how much of it is done (`unit`: records, bytes, partitions).

        Raises Stopped when a stop of the run was requested.
        """
        self.check_stop()
        eta_s = None
        if done and total and done < total:
            eta_s = round((time.monotonic() - self._began) * (total - done) / done, 1)
        progress: dict[str, Any] = {
            "at_ms": time.time_ns() // 1_000_000,
            "message": message,
            "done": done,
            "total": total,
            "unit": unit,
            "eta_s": eta_s,
        }
        contract.write_progress(self.run_dir, progress)

    def check_stop(self) -> None:
        """Raise Stopped when a stop of the run was requested."""
        if (self.run_dir / contract.STOP).exists():
            raise Stopped

    def write(self, name: str, rows: DataFrame | pa.Table) -> None:
        """Write a table of the answer, in the order of its rows."""
        self.check_stop()
        found = rows if isinstance(rows, pa.Table) else rows.toArrow()
        folder = self.tables / name
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(found, folder / "part-0.parquet", compression="zstd")
