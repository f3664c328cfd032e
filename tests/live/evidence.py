"""What a reader of a failed live test needs: the last lines of nodes, consoles and runs, and runs' progress.

It is what lies below pytest's temporary folder and was written while the test ran.
"""

from collections.abc import Iterator
from pathlib import Path

# Nodes, daemons and consoles; what a run said last, and what its processes wrote.
LOGS = ("*.log", "progress.json", "result.json", "demo.txt")
LINES, FILES, LINE_CHARS = 25, 12, 400


def evidence_since(folder: Path, began: float) -> Iterator[tuple[str, str]]:
    """Yield name and last lines of files written since `began` (seconds of the epoch), the newest first."""
    paths = (path for pattern in LOGS for path in folder.rglob(pattern))
    # A segment of a partition is called by a number.
    found = [(one.stat().st_mtime, one) for one in paths if not one.stem.isdigit()]
    for written, path in sorted(found, reverse=True)[:FILES]:
        if written >= began and (text := _end_of(path)):
            yield str(path.relative_to(folder)), text


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LINES * LINE_CHARS))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return "\n".join(line[:LINE_CHARS] for line in lines[-LINES:])
