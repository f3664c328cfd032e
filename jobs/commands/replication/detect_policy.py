"""`crosslog detect-policy --topics FILE`: which naming policies explain the topics of a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.commands import command
from jobs.replication.naming.detection import Candidate, detect_policies

MOST_BYTES = 64 * 1024 * 1024


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        names = _read(arguments.topics)
    except (OSError, ValueError) as error:
        return command.refuse(error, arguments.topics)
    found = detect_policies(names)
    told = {"topics": len(names), "policies": [one.to_mapping() for one in found]}
    command.print_answer(arguments, lambda: told, lines(found))
    return command.OK if found else command.FINDING


def _read(path: Path) -> list[str]:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    names = [line.strip() for line in content.decode("utf-8").splitlines() if line.strip()]
    strange = next((n for n in names if not n.isprintable() or " " in n), None)
    if strange is not None:
        raise ValueError(f"{strange[:50]!r} is no name of a topic; one a line is wanted")
    return names


def lines(found: Sequence[Candidate]) -> Iterator[str]:
    """Yield the candidates for a person."""
    if not found:
        yield "No topic's name tells of a MirrorMaker 2 that writes here."
    for one in found:
        yield f"{one.sureness.value}: {one.policy} policy, {one.template}, from {', '.join(one.sources)}"
        if not one.internal_separator:
            yield "  internal topics keep the dot (internal.topic.separator.enabled=false)"
        if one.remote_topics:
            yield f"  {one.remote_topics} remote topics, such as {', '.join(one.examples)}"
        yield from (f"  {e.topic or 'all names'}: {e.tells}" for e in one.evidence)
