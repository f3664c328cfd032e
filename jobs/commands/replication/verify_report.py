"""`crosslog verify-report FILE`: whether a failover's report is as it was signed. Needs no console."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jobs.commands import command
from jobs.json_text import BadJson, parse_json
from jobs.replication.failover.reports.forms import html_of, pdf_of
from jobs.replication.failover.reports.report import FORMAT
from jobs.replication.failover.reports.signing import BadReport, verify

MOST_BYTES = 256 * 1024 * 1024


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        document = _read(arguments.report)
        pem = _read_key(arguments.key) if arguments.key else None
        forms = {path: path.read_bytes() for path in arguments.same}
    except (OSError, BadJson) as error:
        return command.refuse(error, arguments.report)
    problem, key_id = "", ""
    try:
        key_id = verify(document, pem)
        different = [
            str(path) for path, content in forms.items() if not _is_form(document, content)
        ]
        if different:
            problem = (
                f"{', '.join(different)}: not what this version of crosslog makes of the report."
            )
    except BadReport as error:
        problem = str(error)
    _print(arguments, problem, key_id)
    return command.FINDING if problem else command.OK


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MOST_BYTES:
        raise OSError(f"larger than {MOST_BYTES} bytes: no report is")
    document = parse_json(path.read_bytes())
    return document if isinstance(document, dict) else {"report": None}


def _read_key(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(0, f"Byte {error.start} is not UTF-8", str(path)) from None


def _is_form(document: dict[str, Any], content: bytes) -> bool:
    if document["report"].get("format") != FORMAT:
        return False
    try:
        return content in {html_of(document).encode("utf-8"), pdf_of(document)}
    except (AttributeError, KeyError, TypeError, ValueError):
        return False  # signed by somebody, but nothing that crosslog writes


def _print(arguments: argparse.Namespace, problem: str, key_id: str) -> None:
    by = "signed by" if arguments.key else "signed by the key that it names,"
    said = f"NOT verified. {problem}" if problem else f"verified, {by} {key_id}."
    told = {"verified": not problem, "key_id": key_id, "problem": problem}
    told["key_was_given"] = bool(arguments.key)
    command.print_answer(arguments, lambda: told, [f"{arguments.report}: {said}"])
