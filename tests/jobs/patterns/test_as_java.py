"""The same answers as Java's own `Pattern.matches`, for a table of patterns and for generated ones."""

import subprocess
from pathlib import Path

import pytest

from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java
from jobs.patterns.java import NotAPattern, NotEvaluated, to_re2
from jobs.patterns.matching import expression_of, matcher_of
from tests.jobs.patterns.table import (
    FOR_JAVA_ALONE,
    FOR_NOBODY,
    NAMES,
    PATTERNS,
    exotic_patterns,
    ordinary_patterns,
)
from tests.support import NO_COMPILER

SEED = 20_261_123
ALL = (*PATTERNS, *ordinary_patterns(400, SEED))


def told_by_java(java, folder, patterns):
    """Return a line for each pattern: which names it matches, or that it is refused."""
    files = []
    for name, texts in (("names", NAMES), ("patterns", patterns)):
        file = folder / name
        file.write_text("".join(f"{text.encode().hex()}\n" for text in texts))
        files.append(file)
    program = Path(__file__).parent / "Table.java"
    ended = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", program, *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_answers_are_those_of_java(tmp_path, java):
    told = told_by_java(java, tmp_path, ALL)
    ours = ["".join(str(int(matcher_of((p,)).matches(n))) for n in NAMES) for p in ALL]
    wrong = [
        (pattern, [n for n, a, b in zip(NAMES, there, here, strict=True) if a != b])
        for pattern, there, here in zip(ALL, told, ours, strict=True)
        if there != here
    ]
    assert wrong == []


def test_what_is_taken_of_any_pattern_is_answered_as_by_java(tmp_path, java):
    patterns = exotic_patterns(6_000, SEED)
    told = told_by_java(java, tmp_path, patterns)
    wrong, taken = [], 0
    for pattern, there in zip(patterns, told, strict=True):
        try:
            here = "".join(str(int(matcher_of((pattern,)).matches(name))) for name in NAMES)
        except NotEvaluated:
            continue
        except NotAPattern:
            here = "refused"
        else:
            taken += 1
        wrong += [] if here == there else [(pattern, there, here)]
    assert wrong == []
    assert taken > 1_000


def test_what_java_refuses_and_takes_is_called_so(tmp_path, java):
    told = told_by_java(java, tmp_path, [*FOR_JAVA_ALONE, *FOR_NOBODY])
    assert [p for p, line in zip(FOR_JAVA_ALONE, told, strict=False) if line == "refused"] == []
    nobody = told[len(FOR_JAVA_ALONE) :]
    assert [p for p, line in zip(FOR_NOBODY, nobody, strict=True) if line != "refused"] == []


@pytest.mark.parametrize("pattern", FOR_JAVA_ALONE, ids=lambda text: text[:30])
def test_what_only_java_evaluates_is_refused_as_such(pattern):
    with pytest.raises(NotEvaluated):
        expression_of(pattern)


@pytest.mark.parametrize("pattern", FOR_NOBODY)
def test_what_java_refuses_is_refused(pattern):
    with pytest.raises(NotAPattern) as refused:
        to_re2(pattern)
    assert not isinstance(refused.value, NotEvaluated)


@pytest.fixture(scope="module")
def java():
    try:
        found = find_java()
    except JavaMissing as missing:
        pytest.skip(str(missing))
    if not found.keytool.with_name("javac").exists():
        pytest.skip(NO_COMPILER)
    return found.command
