"""What all commands share: exit codes, common arguments, reading of files, answers and refusals.

A refusal is one sentence with its path, on stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.visible import print_lines

OK, FINDING, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
ONE_DOCUMENT = "print one JSON document"


def add_path(
    parser: argparse._ActionsContainer, name: str, metavar: str, what: str = "", **more: Any
) -> None:
    """Add an argument that is a file or a folder; `more` is for `add_argument`."""
    parser.add_argument(name, metavar=metavar, type=Path, help=what or None, **more)


def add_flow(parser: argparse.ArgumentParser) -> None:
    add_path(parser, "flow", "FLOW.yaml", "the flow; see docs/automation.md")


def add_flag(parser: argparse._ActionsContainer, option: str, what: str) -> None:
    parser.add_argument(option, action="store_true", help=what)


def add_repeated(
    parser: argparse.ArgumentParser, option: str, metavar: str | None, what: str, type_: type = str
) -> None:
    """Add an option that may be given again and again."""
    parser.add_argument(option, metavar=metavar, help=what, type=type_, action="append", default=[])


def add_json(parser: argparse.ArgumentParser, what: str = ONE_DOCUMENT) -> None:
    add_flag(parser, "--json", what)


def read_bounded(path: Path, most: int, advice: str = "", *, may_be_stdin: bool = False) -> bytes:
    """Return the content of a file; raises OSError, and ValueError for one that is too large."""
    is_stdin = may_be_stdin and str(path) == "-"
    with sys.stdin.buffer if is_stdin else path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path}: it is larger than {most:,} bytes{advice}")
    return content


def print_json(document: Any) -> None:
    sys.stdout.write(f"{json.dumps(document)}\n")


def print_answer(
    arguments: argparse.Namespace, document: Callable[[], Any], lines: Iterable[str]
) -> None:
    """Print a document where `--json` is given, else lines for a person; only one of them is made."""
    if arguments.json:
        print_json(document())
    else:
        print_lines(lines)


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> Iterator[str]:
    """Yield rows as lines, each column with one width; the texts of columns in `right` end alike."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )


def say(text: object, code: int = BAD_INPUT) -> int:
    """Write a sentence to stderr as it is, and return the exit code."""
    sys.stderr.write(f"{text}\n")
    return code


def refuse(error: Exception, path: Path | None = None) -> int:
    """Say why input cannot be used, and return the exit code; `path` is for errors that name none."""
    if isinstance(error, InvalidFields):
        sys.stderr.writelines(f"{path}: {field}: {text}\n" for field, text in error.errors.items())
        return BAD_INPUT
    if isinstance(error, ClusterFault):
        return say(f"{error}\n{error.hint}".rstrip("\n"))
    named = getattr(error, "filename", None) or path
    said = _reason(error).rstrip(".\n")
    return say(f"{named}: {said}." if named else f"{said}.")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"It cannot be read: {error.strerror}"
    if isinstance(error, UnicodeDecodeError):
        return f"Byte {error.start} is not UTF-8"
    return str(error)
