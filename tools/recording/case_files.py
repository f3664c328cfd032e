"""The files of `tests/conformance`: JSON with short values on one line, for small diffs."""

import json
from pathlib import Path
from typing import Any

CONFORMANCE = Path(__file__).resolve().parents[2] / "tests" / "conformance"
_WIDTH = 110


def read_cases(subject: str) -> dict[str, Any]:
    """Return what the project has as `cases.json` of a subject: `source`, `cases` and what belongs to all."""
    return read_json(CONFORMANCE / subject / "cases.json")


def write_cases(document: dict[str, Any], kinds: list[str], version: str, folder: Path) -> None:
    """Write `cases.json`; `recorded` names the version and the kinds of cases that it answered."""
    first = {"source": document["source"], "recorded": {"kafka": version, "kinds": kinds}}
    write_json(folder / "cases.json", first | {k: v for k, v in document.items() if k not in first})


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: object) -> None:
    """Write a value in the form that all files here have."""
    path.write_text(as_text(value) + "\n", encoding="utf-8")


def as_text(value: object, indent: int = 0) -> str:
    """Return JSON: what fits on a line is on one, everything else has one item per line, order kept."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + 1
    if isinstance(value, dict):
        items = [
            f"{json.dumps(k, ensure_ascii=False)}: {as_text(v, inner)}" for k, v in value.items()
        ]
        opening, closing = "{", "}"
    else:
        items = [as_text(one, inner) for one in value]
        opening, closing = "[", "]"
    between = ",\n" + " " * inner
    return f"{opening}\n{' ' * inner}{between.join(items)}\n{' ' * indent}{closing}"
