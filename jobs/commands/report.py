"""`crosslog report KIND`: a report of what a console has recorded, made by it and written to a file."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from jobs.commands import command
from jobs.files import write_whole
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import PeriodName
from jobs.reports.rendering.formats import Format, Paper

POLL_S = 0.5
TIMEOUT_S = 30.0
TOKEN = "CROSSLOG_TOKEN"  # noqa: S105  the name of a variable
_ENDED = {"ready", "failed"}


class Refused(Exception):
    """The console said no; the message is for a person."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "report",
        help="a report of a period, from what a console has recorded",
        description="Make a report from what a console has recorded, and write it to a file. It shows what "
        f"the owner of the token may see: a service token in {TOKEN}, or its file in {TOKEN}_FILE. Exit "
        "codes: 0 written, 1 it could not be made, 2 an argument is wrong.",
    )
    parser.add_argument("kind", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--from", dest="start", help="2026-11-16 or 2026-11-16T07:00:00Z")
    parser.add_argument(
        "--to", dest="end", help="the first moment that is not in it; without it now"
    )
    parser.add_argument(
        "--period", choices=[one.value for one in PeriodName], help="instead of --from and --to"
    )
    parser.add_argument(
        "--time-zone", default="UTC", help="of days, weeks and months: Europe/Berlin"
    )
    subject = "a flow or a cluster, can be repeated; without it all that the owner may see"
    command.add_repeated(parser, "--subject", None, subject)
    parser.add_argument("--format", choices=[one.value for one in Format], default="pdf")
    parser.add_argument("--paper", choices=[one.value for one in Paper], default="a4")
    command.add_flag(parser, "--no-before", "without the period before beside it")
    parser.add_argument("--token-file", type=Path, help=f"instead of {TOKEN}: a file that holds it")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the console answers")
    parser.add_argument("--output", type=Path, help="the file; without it named by kind and period")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make a report and write it."""
    try:
        console = _Console(arguments.url.rstrip("/"), _token(arguments.token_file))
        made = console.make(_wanted(arguments))
        while made["state"] not in _ENDED:
            time.sleep(POLL_S)
            made = console.look(made["id"])
        if made["state"] == "failed":
            return _say(made["error"], command.FINDING)
        found = Format(arguments.format)
        if found.value not in made["files"]:
            return _say(made["error"], command.FINDING)
        content = console.fetch(made["id"], found)
    except Refused as refusal:
        return _say(str(refusal), command.BAD_INPUT)
    except requests.RequestException:
        return _say(f"{arguments.url} did not answer as a console does.", command.FINDING)
    output = arguments.output or Path(made["files"][found.value]["name"])
    try:
        write_whole(output, lambda file: file.write(content))
    except OSError as error:
        return _say(f"{output}: {error.strerror}.", command.FINDING)
    sys.stdout.write(f"{output}\n")
    sys.stderr.write(f"{made['headline']}\n" if made["headline"] else "")
    return command.OK


def _wanted(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {
        "kind": arguments.kind,
        "from": arguments.start,
        "to": arguments.end,
        "period": arguments.period,
        "time_zone": arguments.time_zone,
        "subjects": arguments.subject,
        "paper": arguments.paper,
        "with_before": not arguments.no_before,
    }
    return {name: value for name, value in given.items() if value is not None}


class _Console:
    """The API of a console, with a token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url}/api/v1/report-runs/"
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"

    def make(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return self._json(self._session.post(self._url, json=wanted, timeout=TIMEOUT_S))

    def look(self, run_id: str) -> dict[str, Any]:
        return self._json(self._session.get(f"{self._url}{run_id}/", timeout=TIMEOUT_S))

    def fetch(self, run_id: str, found: Format) -> bytes:
        answer = self._session.get(f"{self._url}{run_id}/files/{found.value}/", timeout=TIMEOUT_S)
        if answer.status_code != requests.codes.ok:
            raise Refused(_told(answer))
        return answer.content

    def _json(self, answer: requests.Response) -> dict[str, Any]:
        if not answer.ok:
            raise Refused(_told(answer))
        told: dict[str, Any] = answer.json()
        return told


def _token(given: Path | None) -> str:
    """Return the token of a file, else of the environment; raises `Refused` when there is none."""
    named = given or os.environ.get(f"{TOKEN}_FILE")
    token = os.environ.get(TOKEN, "")
    try:
        token = Path(named).read_text(encoding="utf-8") if named else token
    except OSError as error:
        raise Refused(f"{named} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Refused(f"{named} holds no token: it is not UTF-8.") from None
    if not token.strip():
        where = f"{named} holds no token." if named else f"Set {TOKEN}, or name a --token-file."
        raise Refused(f"{where} A service token is made in the console, page Tokens.")
    return token.strip()


def _told(answer: requests.Response) -> str:
    """Return what the API says of an error, field by field; else HTTP's own words."""
    try:
        said = answer.json()
    except ValueError:
        return f"The console answered {answer.status_code} {answer.reason}."
    fields = said.get("fields") or {}
    lines = [f"{name}: {_joined(text)}" for name, text in fields.items()]
    return "\n".join(lines) or str(said.get("detail") or said.get("message") or said)


def _joined(text: Any) -> str:
    return " ".join(map(str, text)) if isinstance(text, list) else str(text)


def _say(text: str, code: int) -> int:
    return command.say(f"crosslog report: {text}", code)
