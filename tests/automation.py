"""Reads the examples of docs/automation.md and runs them in one shell."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import PATIENCE

DOCUMENT = Path(__file__).parent.parent / "docs" / "automation.md"
# What a reader replaces by their own, and so do the tests.
SIGN_IN = {"url": "http://127.0.0.1:8000/api/v1", "user": "admin:PASSWORD"}
ANYTHING = "..."
_MARK = "<!-- needs Kafka -->\n"
_BLOCK = re.compile(
    rf"(?P<mark>{_MARK})?```sh\n(?P<code>.*?)```\n(?:```(?P<kind>json|text)\n(?P<output>.*?)```\n)?",
    re.DOTALL,
)
_END = "--- end of example ---"


@dataclass(frozen=True)
class Example:
    """A block of commands, and what its last command prints when the document says so."""

    code: str
    kind: str | None
    output: str | None
    needs_kafka: bool


def examples() -> list[Example]:
    """The examples of the REST chapter, in order."""
    chapter = DOCUMENT.read_text("utf-8").partition("## REST")[2]
    return [
        Example(found["code"], found["kind"], found["output"], bool(found["mark"]))
        for found in _BLOCK.finditer(chapter)
    ]


def run_examples(chosen: list[Example], replaced: dict[str, str], timeout_s: float = 240) -> None:
    """Run examples in one shell, which ends at the first command that fails; compare what they print."""
    script = "\n".join(f"{example.code}echo; echo '{_END}'" for example in chosen)
    for old, new in replaced.items():
        script = script.replace(old, new)
    told = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True, text=True, timeout=timeout_s * PATIENCE, check=False,
    )  # fmt: skip
    assert told.returncode == 0, f"{told.stdout}\n{told.stderr}"
    for example, printed in zip(chosen, told.stdout.split(_END), strict=False):
        _compare(example, printed.strip())


def _compare(example: Example, printed: str) -> None:
    if example.kind == "text" and example.output is not None:
        lines = [line.strip() for line in printed.splitlines()]
        assert lines == [line.strip() for line in example.output.splitlines()], example.code
    if example.kind == "json" and example.output is not None:
        last = _last_json(printed)
        assert differences(json.loads(example.output), last) == [], (example.code, last)


def _last_json(printed: str) -> object:
    """What the last command printed: answers of API calls follow each other without a line break."""
    decoder, at, found = json.JSONDecoder(), 0, None
    while (begin := re.search(r"[\[{]", printed[at:])) is not None:
        found, length = decoder.raw_decode(printed[at + begin.start() :])
        at += begin.start() + length
    return found


def differences(wanted: object, found: object, path: str = "") -> list[str]:
    """What the document says and the answer does not; more fields and more rows are fine."""
    if wanted == ANYTHING:
        return []
    if isinstance(wanted, dict) and isinstance(found, dict):
        missing = [f"{path}.{name} is missing" for name in wanted if name not in found]
        inner = [differences(wanted[n], found[n], f"{path}.{n}") for n in wanted if n in found]
        return missing + [text for texts in inner for text in texts]
    if isinstance(wanted, list) and isinstance(found, list) and len(found) >= len(wanted):
        # Another cluster has more rows, and elsewhere: each row of the document must be among them.
        missed = [w for w in wanted if all(differences(w, f) for f in found)]
        return [f"{path}[]: no row is like {w!r}" for w in missed]
    return [] if wanted == found else [f"{path}: {found!r} instead of {wanted!r}"]
