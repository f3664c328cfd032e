"""Write the table of docs/kafka_versions.md out of docs/kafka_versions.json.

The rows are what the live tests of the room `versions` recorded:
`pytest tests/live/versions --record-versions docs/kafka_versions.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "kafka_versions.md", DOCS / "kafka_versions.json"
BEGIN, END = "<!-- table of results -->\n", "<!-- end of table -->\n"
NOT_RUN = "-"
_ROLES = {"cluster": "", "source": ", as source", "target": ", as target"}

Row = Mapping[str, str]


def main() -> None:
    """Write the page with the table as it has to be."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), read_rows()), encoding="utf-8")


def read_rows() -> list[Row]:
    """Return what was recorded, a row per test and version."""
    rows: list[Row] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return rows


def with_table(text: str, rows: Iterable[Row]) -> str:
    """Return the page with a table of these rows."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(rows)}{END}{after}"


def table(rows: Iterable[Row]) -> str:
    """Return capability x version; a cell says how many tests passed, failed and were left out."""
    cells: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        in_row = cells.setdefault(row["capability"] + _ROLES[row["role"]], {})
        in_row.setdefault(_column(row), []).append(row["outcome"])
    columns = sorted({name for in_row in cells.values() for name in in_row}, key=_in_order)
    lines = [["capability", *columns], ["---"] * (len(columns) + 1)]
    lines += [
        [capability, *(_cell(cells[capability].get(name, [])) for name in columns)]
        for capability in sorted(cells)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _column(row: Row) -> str:
    parts = (row["version"], "" if row["mode"] == "kraft" else "ZooKeeper", row["note"])
    return " ".join(part for part in parts if part)


def _in_order(column: str) -> tuple[list[int], str]:
    return [int(part) for part in column.split(maxsplit=1)[0].split(".")], column


def _cell(outcomes: list[str]) -> str:
    counts = {name: outcomes.count(name) for name in ("passed", "failed", "skipped")}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or NOT_RUN


if __name__ == "__main__":
    main()
