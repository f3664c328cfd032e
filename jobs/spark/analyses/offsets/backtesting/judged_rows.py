"""What tasks told, as rows of one table on disk, and the queries that count them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.spark.analyses.offsets.backtesting.judging import Verdict
from jobs.spark.analyses.offsets.backtesting.partition import Told, Work
from jobs.spark.analyses.offsets.backtesting.truth import Known

JUDGED, MISSED = "judged", "missed"
_BY = (("flow", pa.string()), ("copied_by", pa.string()), ("topic", pa.string()))
_PARTITION = (*_BY, ("partition", pa.int64()))
_QUESTION = ("at_ms", "upstream", "downstream", "lo", "hi", "mm2")
_JUDGED = (
    "checkpoint",
    "certificate",
    "mm2_verdict",
    "width",
    "checkpoint_reread",
    "certificate_reread",
    "mm2_reread",
)
_SCHEMAS = {
    JUDGED: pa.schema(
        [
            *_PARTITION,
            ("asked", pa.string()),
            ("why", pa.string()),
            ("is_checkable", pa.bool_()),
            *((name, pa.int64()) for name in (*_QUESTION, *_JUDGED)),
        ]
    ),
    MISSED: pa.schema(
        [
            *_PARTITION,
            ("who", pa.string()),
            ("group", pa.string()),
            *((n, pa.int64()) for n in ("at_ms", "upstream", "answer", "place")),
            *((n, pa.int64()) for n in ("skipped", "skipped_copy")),
        ]
    ),
}


class JudgedRows:
    """Writes what partitions told into two files of a folder; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.paths = {name: folder / f"{name}.parquet" for name in _SCHEMAS}
        self._writers = {
            name: pq.ParquetWriter(path, _SCHEMAS[name]) for name, path in self.paths.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def take(self, work: Work, told: Told, groups: list[str]) -> None:
        """Write the rows of a partition."""
        questions, given, judged = told.questions, told.given, told.judged
        if questions is None or given is None or judged is None or not len(questions.upstream):
            return
        known = np.array([one.text for one in sorted(Known)], dtype=object)
        seen = (judged.checkpoint, judged.certificate, judged.mm2)
        out = np.any([np.isin(one, (Verdict.MISS, Verdict.WRONG)) for one in seen], axis=0)
        columns: dict[str, Any] = {
            "asked": np.where(questions.is_checkpoint, "checkpoint", "sample").astype(object),
            "why": known[judged.why],
            "is_checkable": (judged.why == Known.YES) | out,
            "at_ms": questions.at_ms,
            "upstream": questions.upstream,
            "downstream": questions.downstream,
            "mm2_verdict": judged.mm2,
            **given._asdict(),
            **{name: getattr(judged, name) for name in _JUDGED if name != "mm2_verdict"},
        }
        self._write(JUDGED, work, len(questions.upstream), columns)
        rows = [one.row for one in told.missed]
        numbers = questions.group[rows].tolist()
        missed = {
            "who": [one.who for one in told.missed],
            "group": [groups[number] if number >= 0 else None for number in numbers],
            "at_ms": questions.at_ms[rows],
            "upstream": questions.upstream[rows],
            "place": judged.place[rows],
            **{
                name: [getattr(one, name) for one in told.missed]
                for name in ("answer", "skipped", "skipped_copy")
            },
        }
        self._write(MISSED, work, len(rows), missed)

    def _write(self, name: str, work: Work, count: int, columns: dict[str, Any]) -> None:
        schema = _SCHEMAS[name]
        flow = work.flow
        same = (flow.name, flow.copied_by.value, work.where.topic, work.where.partition)
        said = dict(zip((column for column, _ in _PARTITION), same, strict=True))
        arrays = [
            pa.array([said[one.name]] * count, one.type)
            if one.name in said
            else _array(columns[one.name], one.type)
            for one in schema
        ]
        self._writers[name].write_table(pa.Table.from_arrays(arrays, schema=schema))


def _array(values: Any, type_: pa.DataType) -> pa.Array:
    """Return a column; -1 means that there is none, and becomes null."""
    if not pa.types.is_int64(type_):
        return pa.array(values, type_)
    numbers = np.asarray(values, np.int64)
    return pa.array(numbers, type_, mask=numbers < 0)


def _spread(name: str, of: str) -> str:
    return (
        f"percentile_approx({of}, 0.5, 10000) AS {name}_p50, "
        f"percentile_approx({of}, 0.95, 10000) AS {name}_p95, MAX({of}) AS {name}_max"
    )


_MEASURES = f"""
COUNT(*) AS questions,
COUNT_IF(is_checkable) AS checkable,
COUNT_IF(checkpoint = {Verdict.MISS:d}) AS checkpoint_misses,
COUNT_IF(certificate IN ({Verdict.MISS:d}, {Verdict.WRONG:d})) AS certificate_misses,
COUNT_IF(mm2_verdict = {Verdict.MISS:d}) AS mm2_misses,
try_divide(COUNT_IF(width = 0), COUNT(lo)) AS exact,
try_divide(COUNT_IF(certificate_reread = 0), COUNT(certificate_reread)) AS rereads_nothing,
{_spread("width", "width")},
{_spread("checkpoint_reread", "checkpoint_reread")},
{_spread("certificate_reread", "certificate_reread")},
{_spread("mm2_reread", "mm2_reread")}
"""
SUMMARY = f"""
SELECT flow, copied_by, {_MEASURES}
FROM {JUDGED} GROUP BY flow, copied_by ORDER BY flow
"""  # noqa: S608  only constants of this file
DAYS = f"""
SELECT flow, copied_by, topic, asked, at_ms - pmod(at_ms, 86400000) AS day_ms, {_MEASURES}
FROM {JUDGED} GROUP BY 1, 2, 3, 4, 5 ORDER BY topic, day_ms, flow, asked
"""  # noqa: S608  as above
MISSES = f"SELECT * FROM {MISSED} ORDER BY flow, topic, partition, at_ms, upstream"  # noqa: S608
UNKNOWN = f"""
SELECT flow, copied_by, topic, why AS reason, COUNT(*) AS questions
FROM {JUDGED} WHERE NOT is_checkable GROUP BY 1, 2, 3, 4 ORDER BY questions DESC, flow, topic, reason
"""  # noqa: S608  as above
TOTALS = f"""
SELECT {_MEASURES}, COUNT_IF(asked = 'checkpoint') AS checkpoints,
COUNT_IF(asked = 'checkpoint' AND is_checkable) AS checkable_checkpoints
FROM {JUDGED}
"""  # noqa: S608  as above
