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
from jobs.commands.arguments import TOKEN
from jobs.files import write_whole
from jobs.reports.rendering.formats import Format

POLL_S = 0.5
TIMEOUT_S = 30.0
_ENDED = {"ready", "failed"}


class Refused(Exception):
    """The console said no; the message is for a person."""


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
