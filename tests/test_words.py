"""Pages, messages and documents use the words of the field; a heading is a noun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

# What is not written, and what is written in its place.
REFUSED = {
    r"nobody|whoever|anew|wished": "name the subject; `again`, `wanted`",
    r"one's own": "`your own`, `custom`",
    r"(?:is|are|was|were|be|not) well(?![- ](?:known|formed|kept|below|above|within|under|over))": (
        "healthy"
    ),
    r"(?<!or )odd(?! (?:number|count|voters|and|or|one|byte|length))": "`anomaly`, `unusual`",
    r"stands|stood": "`is at`, `is`",
    r"(?:go|goes|going|went|gone) on(?! (?:disk|the network))": "`continues`, `resumes at`",
    r"(?:go|goes) over": "fail over",
    r"(?:is|are|was|were|be|been|being) told|told by": "`is reported`, `is known`",
    r"(?:is|are|was|were) asked": "`is queried`, `is requested`",
    r"(?:take|takes|took|taken|taking|bring|brings|brought|bringing) (?:it |them )?back": (
        "`revert`, `roll back`, `restore`, `restart`"
    ),
    r"left alone|furthest behind|with care|believes": "`unchanged`, `max lag`, `warning`",
    r"mend(?:s|ed|ing)?": "fix",
}
_REFUSED = re.compile(rf"(?i)(?<![\w-])(?:{'|'.join(REFUSED)})(?![\w-])")
_HEADING = re.compile(
    r"<(h[1-6]|th|legend|summary|caption)\b[^>]*>(?:(?!</\1>).)*\?\s*</\1>"
    r"|\{%\s*block\s+(?:title|heading)\s*%\}[^{]*\?",
    re.DOTALL,
)
_DOCUMENT_HEADING = re.compile(r"^#+ .*\?\s*$", re.MULTILINE)
# Sentences that are compared with what Kafka and other programs write.
QUOTED: set[str] = set()

PYTHON = [
    path
    for folder in ("console", "jobs")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
RUNBOOKS = sorted((ROOT / "jobs").rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers: of programs also names, comments and docstrings."""
    yield from enumerate(path.read_text("utf-8").splitlines(), 1)


def refused_in(text: str) -> list[str]:
    return [] if text.strip() in QUOTED else [found.group() for found in _REFUSED.finditer(text)]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(TEMPLATES, id="pages"),
        pytest.param(PYTHON, id="programs"),
        pytest.param(RUNBOOKS, id="runbooks"),
        pytest.param(DOCUMENTS, id="documents"),
        pytest.param(SCRIPTS, id="scripts"),
    ],
)
def test_no_text_has_a_word_that_is_refused(files):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}"
        for path in files
        for line, text in texts_of(path)
        for word in refused_in(text)
    ]
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_heading_of_a_page_is_a_question(path):
    assert [found.group()[:80] for found in _HEADING.finditer(path.read_text("utf-8"))] == []


def test_no_heading_of_a_document_is_a_question():
    assert [
        f"{path.name}: {found.group()}"
        for path in DOCUMENTS
        for found in _DOCUMENT_HEADING.finditer(path.read_text("utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Nobody reads it anew.", ["Nobody", "anew"], id="two words"),
        pytest.param("The broker is well.", ["is well"], id="a state"),
        pytest.param("It is well below the limit.", [], id="not a state"),
        pytest.param("An odd number of voters, even or odd.", [], id="a number"),
        pytest.param("Odd: the offset stands at 9.", ["Odd", "stands"], id="an anomaly"),
        pytest.param("Replication goes on after it was told.", ["goes on", "was told"], id="verbs"),
        pytest.param("A standby broker understands standstills.", [], id="parts of other words"),
    ],
)
def test_what_is_refused(text, words):
    assert refused_in(text) == words
