"""What a reader of a failed live test needs: the last lines of nodes, consoles and runs, and runs' progress.

It is what lies below pytest's temporary folder and was written while the test ran.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Nodes, daemons and consoles; what a run said last, and what its processes wrote.
LOGS = ("*.log", "progress.json", "result.json", "demo.txt")
LINES, FILES, LINE_CHARS = 25, 12, 400
# Set-up of a lab and a console that a failed test used may have been minutes before.
BEFORE_S = 300


def report_with_evidence(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> pytest.TestReport:
    """Add to the report of a failed test what its clusters, consoles and runs wrote meanwhile."""
    if report.failed:
        folder = item._request.getfixturevalue("tmp_path_factory").getbasetemp()  # type: ignore[attr-defined]
        report.sections += evidence_since(folder, call.start - BEFORE_S)
    return report


def evidence_since(folder: Path, began: float) -> Iterator[tuple[str, str]]:
    """Yield name and last lines of files written since `began` (seconds of the epoch), the newest first."""
    paths = (path for pattern in LOGS for path in folder.rglob(pattern))
    # A segment of a partition is called by a number.
    found = [(_written_at(one), one) for one in paths if not one.stem.isdigit()]
    for written, path in sorted(found, reverse=True)[:FILES]:
        if written >= began and (text := _end_of(path)):
            yield str(path.relative_to(folder)), text


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # removed meanwhile
        return 0.0


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LINES * LINE_CHARS))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(line[:LINE_CHARS] for line in lines[-LINES:])
