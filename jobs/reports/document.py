"""A report as a document: sections of verdicts, figures, tables and charts. Every format is made from it.

Values are JSON values (moments by `values.stamp`), so a document and its JSON are the same thing. The same
recorded data makes the same document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobs import numbers
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, stamp
from jobs.severity import Severity

FORMAT = "crosslog.report"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer in one word with the sentence that gives the reason."""

    level: Severity
    word: str
    sentence: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the period, `before` the same of the period before; None: not known.

    `definition` says what is counted, `href` is the page that shows it at that moment (see `links`).
    """

    label: str
    value: Any
    type: ValueType = ValueType.COUNT
    definition: str = ""
    href: str = ""
    before: Any = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures that are read together; `has_before` shows the column of the period before."""

    figures: tuple[Figure, ...]
    has_before: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; people read `absent` where a value is None."""

    name: str
    title: str
    type: ValueType = ValueType.TEXT
    definition: str = ""
    absent: str = numbers.DASH


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values in the order of the columns. `name` is that of its CSV file, once per document.

    `hrefs` are the pages of the rows, empty or one per row. `total` is how many rows there are when only the
    first ones are here. `empty` is said when there is no row.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...] = ()
    hrefs: tuple[str, ...] = ()
    total: int | None = None
    empty: str = "None."


class ChartType(StrEnum):
    """LINES over time, BARS by name, LANES of states over time."""

    LINES = "lines"
    BARS = "bars"
    LANES = "lanes"


@dataclass(frozen=True, slots=True)
class Series:
    """LINES: `x` moments and `values` (None: a gap). BARS: `x` names and `values`.

    LANES: a lane with `x` the begins, `ends` and `values` the words, each with its level in `levels`.
    """

    label: str
    x: tuple[str, ...]
    values: tuple[Any, ...]
    ends: tuple[str, ...] = ()
    levels: tuple[Severity, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing. `alt` describes it in a sentence or two for screen readers."""

    name: str
    title: str
    type: ChartType
    series: tuple[Series, ...]
    alt: str
    value_type: ValueType = ValueType.COUNT


Block = Text | Verdict | Figures | Table | Chart
_BLOCKS: Mapping[str, type[Any]] = {
    "text": Text,
    "verdict": Verdict,
    "figures": Figures,
    "table": Table,
    "chart": Chart,
}
_NAMES = {kind: name for name, kind in _BLOCKS.items()}


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the period of which data is missing, and why."""

    start: str | None
    end: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report. `start` and `end` are what its data really covers; None: there is no data.

    `is_of_period` is False for what is not about a period, as a signature: what it covers is not said then.
    """

    name: str
    title: str
    start: str | None
    end: str | None
    blocks: tuple[Block, ...]
    gaps: tuple[Gap, ...] = ()
    is_of_period: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report. `subjects` are the names of the flows or clusters; `base_url` is put before links.

    `made_for` is the person whose rights it has.
    """

    kind: str
    title: str
    period: Period
    sections: tuple[Section, ...]
    made_at: str
    made_for: str
    before: Period | None = None
    subjects: tuple[str, ...] = ()
    base_url: str = ""
    crosslog: str = ""
    verdicts: tuple[Verdict, ...] = field(default=())

    def tables(self) -> list[Table]:
        """Return all tables in their order."""
        return [one for part in self.sections for one in part.blocks if isinstance(one, Table)]

    def charts(self) -> list[Chart]:
        """Return all charts in their order."""
        return [one for part in self.sections for one in part.blocks if isinstance(one, Chart)]

    def to_mapping(self) -> dict[str, Any]:
        """Return the document as JSON values."""
        told = {
            name: getattr(self, name)
            for name in ("kind", "title", "made_at", "made_for", "base_url", "crosslog")
        }
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **told,
            "period": self.period.to_mapping(),
            "before": self.before.to_mapping() if self.before else None,
            "subjects": list(self.subjects),
            "verdicts": [asdict(one) for one in self.verdicts],
            "sections": [_section_told(one) for one in self.sections],
        }

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Document:
        """Read what `to_mapping` wrote, also through JSON."""
        before = told["before"]
        return cls(
            kind=told["kind"],
            title=told["title"],
            period=Period.from_mapping(told["period"]),
            before=Period.from_mapping(before) if before else None,
            sections=tuple(_section_read(one) for one in told["sections"]),
            made_at=told["made_at"],
            made_for=told["made_for"],
            subjects=tuple(told["subjects"]),
            base_url=told["base_url"],
            crosslog=told["crosslog"],
            verdicts=tuple(_block_read({"block": "verdict", **one}) for one in told["verdicts"]),
        )


def covered(start: datetime | None, end: datetime | None) -> dict[str, str | None]:
    """Return what a section's data covers, as keywords of `Section`."""
    return {"start": stamp(start), "end": stamp(end)}


def _section_told(section: Section) -> dict[str, Any]:
    names = ("name", "title", "start", "end", "is_of_period")
    told = {name: getattr(section, name) for name in names}
    blocks = [{"block": _NAMES[type(one)], **asdict(one)} for one in section.blocks]
    return {**told, "gaps": [asdict(one) for one in section.gaps], "blocks": blocks}


def _section_read(told: Mapping[str, Any]) -> Section:
    gaps = tuple(Gap(**one) for one in told["gaps"])
    blocks = tuple(_block_read(one) for one in told["blocks"])
    names = ("name", "title", "start", "end", "is_of_period")
    return Section(**{name: told[name] for name in names}, blocks=blocks, gaps=gaps)


def _block_read(told: Mapping[str, Any]) -> Any:
    values = {name: value for name, value in told.items() if name != "block"}
    match told["block"]:
        case "verdict":
            values["level"] = Severity(values["level"])
        case "figures":
            values["figures"] = tuple(_typed(Figure, one) for one in values["figures"])
        case "table":
            values["columns"] = tuple(_typed(Column, one) for one in values["columns"])
            values["rows"] = _rows(values["rows"])
            values["hrefs"] = tuple(values["hrefs"])
        case "chart":
            values["type"] = ChartType(values["type"])
            values["value_type"] = ValueType(values["value_type"])
            values["series"] = tuple(_series_read(one) for one in values["series"])
    return _BLOCKS[told["block"]](**values)


def _typed(kind: type[Any], told: Mapping[str, Any]) -> Any:
    return kind(**{**told, "type": ValueType(told["type"])})


def _series_read(told: Mapping[str, Any]) -> Series:
    values = {name: tuple(told[name]) for name in ("x", "values", "ends")}
    return Series(told["label"], **values, levels=tuple(Severity(one) for one in told["levels"]))


def _rows(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)
