#!/usr/bin/env python3
"""Name the conformance cases beside the project that the project does not have yet.

    python tools/missing_cases.py

It compares `../shared/conformance` with `tests/conformance`, see the README there. Nothing is printed where
that folder does not exist. The exit code is always 0.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ROOT / "tests" / "conformance"
THEIRS = ROOT.parent / "shared" / "conformance"
NAME = "../shared/conformance"


def main(theirs: Path = THEIRS, ours: Path = OURS) -> int:
    """Print what is missing, one line each, and return 0."""
    if not theirs.is_dir():
        return 0
    held = {key for path in ours.glob("*/cases.json") for key in _keys(path)}
    missing, broken = [], []
    for path in sorted(one for one in theirs.rglob("*") if one.is_file()):
        place = path.relative_to(theirs)
        is_at_the_top = path.parent == theirs
        if is_at_the_top and path.suffix == ".json":
            try:
                missing += [f"{place}: {kind} {id_}" for kind, id_ in _keys(path) - held]
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                broken.append(f"{NAME}/{place} has no cases: {type(error).__name__}: {error}")
        elif not (is_at_the_top and path.name == "README.md") and not any(_held(ours / place)):
            missing.append(str(place))
    print(*broken, sep="\n", end="\n" if broken else "")
    if missing:
        cases = "1 case" if len(missing) == 1 else f"{len(missing)} cases"
        print(f"{NAME} holds {cases} that tests/conformance lacks:")
        print(*(f"  {one}" for one in sorted(missing)), sep="\n")
    elif not broken:
        print(f"tests/conformance has every case of {NAME}.")
    return 0


def _keys(path: Path) -> set[tuple[str, str]]:
    """Return kind and id of each case of a file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return {(str(case["kind"]), str(case["id"])) for case in document["cases"]}


def _held(path: Path) -> Iterator[Path]:
    """Yield what the project has in the place of a file; documents of a folder are its README here."""
    document = [path.parent / "README.md"] if path.suffix == ".md" else []
    yield from (
        one for one in [path, *document, *path.parent.glob(f"{path.name}.*")] if one.exists()
    )


if __name__ == "__main__":
    sys.exit(main())
