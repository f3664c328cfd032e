"""`crosslog design`: a placement designed from sites and wishes, explained. It changes nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jobs.availability.designer.design import design
from jobs.availability.designer.input import parse_requirements
from jobs.availability.designer.model import Design
from jobs.availability.designer.requirements import (
    ImpossibleRequirements,
    InvalidRequirements,
)
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.commands import command
from jobs.json_text import BadJson, each_once, parse_json

LARGEST_DOCUMENT_BYTES = 1 << 20
# Options whose name is that of a field of the wish.
_PLAIN = (
    "rpo",
    "rto_s",
    "writable_after",
    "observers",
    "topic",
    "partitions",
    "preferred_site",
    "majority_site",
    "most_copies",
    "voters",
    "session_timeout_ms",
)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        document = _document(arguments)
        tools = KafkaTools(arguments.bootstrap_server, command_config=arguments.command_config)
        made = design(parse_requirements(document), tools)
    except ImpossibleRequirements as refused:
        return _refused(refused, is_json=arguments.json)
    except (OSError, ValueError) as error:
        return command.refuse(error)
    command.print_answer(arguments, lambda: {"possible": True} | made.to_mapping(), lines(made))
    return command.OK


def _refused(refused: ImpossibleRequirements, *, is_json: bool) -> int:
    is_bad = isinstance(refused, InvalidRequirements)
    if is_json:
        command.print_json({"possible": False, "problems": refused.problems})
    else:
        said = "\n".join(f"{name}: {problem}" for name, problem in refused.problems.items())
        (sys.stderr if is_bad else sys.stdout).write(f"{said}\n")
    return command.BAD_INPUT if is_bad else command.FINDING


def _document(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the file's wish with what options say instead; raises OSError and ValueError."""
    document = _from_file(arguments.file) if arguments.file else {}
    for name in _PLAIN:
        value = getattr(arguments, name)
        if value is not None:
            document[name] = value
    if arguments.existing_topic:
        document["is_existing_topic"] = True
    if arguments.site:
        document["sites"] = [_site(text) for text in arguments.site]
    if arguments.standby:
        document["sites"] = list(_with_standbys(document.get("sites", []), arguments.standby))
    return document


def _from_file(path: Path) -> dict[str, Any]:
    content = command.read_bounded(path, LARGEST_DOCUMENT_BYTES)
    try:
        document = parse_json(content, each_once)
    except BadJson as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(document, dict):
        raise InvalidRequirements({"": f"{path}: requirements must be an object with `sites`"})
    return document


def _site(text: str) -> dict[str, Any]:
    name, sign, ids = text.partition("=")
    if not sign:
        raise ValueError(f"--site {text}: NAME=ID,ID is expected (NAME= for a witness)")
    return {"name": name, "brokers": [_id(text, one) for one in ids.split(",") if one.strip()]}


def _id(text: str, one: str) -> int:
    if not one.strip().isascii() or not one.strip().isdecimal() or len(one) > 12:  # noqa: PLR2004  an int32
        raise ValueError(f"--site {text}: {one.strip()!r} is not a broker id")
    return int(one)


def _with_standbys(sites: Any, standbys: list[int]) -> Iterator[Any]:
    """Yield the sites with the standbys in theirs; those of no site stay at the first, which then says so."""
    left = set(standbys)
    for index, site in enumerate(sites if isinstance(sites, list) else []):
        if not isinstance(site, Mapping):
            yield site
            continue
        brokers = site.get("brokers")
        here = left & set(brokers) if isinstance(brokers, list) else set()
        known = {
            one for other in sites[index:] if isinstance(other, Mapping) for one in _ids(other)
        }
        strange = left - known if index == 0 else set()
        left -= here | strange
        yield {**site, "standbys": sorted(here | strange)}


def _ids(site: Mapping[str, Any]) -> list[int]:
    brokers = site.get("brokers")
    return [one for one in brokers if isinstance(one, int)] if isinstance(brokers, list) else []


def lines(made: Design) -> Iterator[str]:
    """Yield a design for a person."""
    for site in made.layout:
        standbys = f" (standby {', '.join(map(str, site.standbys))})" if site.standbys else ""
        copies = f"{site.replicas} replicas, {site.observers} observers{standbys}"
        yield f"{site.site}: {copies}, {site.voters} voters"
    yield f"min.insync.replicas {made.min_insync_replicas}"
    yield "why:"
    yield from (f"  {one.subject}: {one.sentence}" for one in made.reasons)
    yield "survives:"
    yield from (f"  {one.sentence}" for one in made.survives)
    yield "alternatives:"
    yield from (f"  {one.title}: {one.why_not}" for one in made.alternatives)
    yield from (f"! {warning}" for warning in made.warnings)
    for group in made.commands:
        yield f"# {group.title}"
        yield from (f"  {'' if group.is_file else '$ '}{line}" for line in group.lines)
