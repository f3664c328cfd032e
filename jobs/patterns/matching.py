"""Whole names against patterns, by RE2: the time grows with the length of a name, whatever the pattern.

Names are text of other programs. A topic's name is ASCII; the id of a group may be anything. Half a character
(a lone surrogate, which no UTF-8 holds) is matched as U+FFFD, which is what Java makes of such bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import re2

from jobs.patterns.java import NotAPattern, NotEvaluated, code, to_re2

# A list of several hundred names fits. Names of topics have at most 249 characters to repeat anything over.
LONGEST = 10_000
# RE2's steps of one pattern: about one for a letter, 25 for a `.`, each as often as a count says. The worst
# pattern of this size took 3 ms for a name of 249 characters.
LARGEST = 12_000
# Of a whole list: five thousand names.
LARGEST_LIST = 200_000
# Steps of one automaton. With this memory RE2 never gives up; see `_Together`.
_TOGETHER = 16_000
_MEMORY_BYTES = 4 << 20
_ANYTHING = r"[\x00-\x{10ffff}]*"


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern as RE2 reads it; `size` is how many steps RE2 makes of it."""

    text: str
    size: int


class Matcher:
    """Patterns that are matched together against whole names."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        self._parts = tuple(_Together(first, texts) for first, texts in _parts(expressions))

    def first(self, name: str) -> int | None:
        """Return the place of the first pattern that matches a name, None when none does."""
        if not self._parts:
            return None
        encoded = _encoded(name)
        found = (part.first(encoded) for part in self._parts)
        return next((place for place in found if place is not None), None)

    def matches(self, name: str) -> bool:
        """Return whether any pattern matches a name."""
        return self.first(name) is not None


class _Together:
    """Patterns in one automaton of RE2's.

    Without memory for its automaton, RE2 says "no match" as it does for a name that does not match. One
    pattern that matches everything is last, which tells the two cases apart.
    """

    def __init__(self, first: int, texts: Sequence[str]) -> None:
        self._first, self._count = first, len(texts)
        self._set = re2.Set.FullMatchSet(_options())
        for text in (*texts, _ANYTHING):
            self._set.Add(text)
        self._set.Compile()

    def first(self, name: bytes) -> int | None:
        found: list[int] = self._set.Match(name) or []
        if self._count not in found:
            raise MemoryError("RE2 had not enough memory to match a name.")
        place = min(found)
        return None if place == self._count else self._first + place


@lru_cache(maxsize=256)
def matcher_of(patterns: tuple[str, ...]) -> Matcher:
    """Return what matches these patterns of people; raises `NotAPattern` when one cannot be used."""
    return Matcher(map(expression_of, patterns))


@lru_cache(maxsize=2048)
def expression_of(pattern: str) -> Expression:
    """Return a regular expression of a person, in Java's language; raises `NotAPattern`."""
    if len(pattern) > LONGEST:
        raise NotEvaluated(f"it has {len(pattern):,} characters, more than {LONGEST:,}.")
    return _measured(to_re2(pattern))


def glob_expression(glob: str) -> Expression:
    """Return a glob: `*` any text, `?` any character, `[a-z]` and `[!a-z]` one; raises `NotEvaluated`."""
    return _measured("".join(_read_glob(glob)))


def name_expression(name: str) -> Expression:
    """Return what matches exactly this name."""
    return _measured("".join(code(ord(one)) for one in _encoded(name).decode()))


def name_pattern(name: str) -> str:
    """Return the regular expression that matches exactly this name."""
    text = _encoded(name).decode()
    return "".join(one if one.isalnum() or not one.isascii() else f"\\{one}" for one in text)


def pattern_problem(pattern: object) -> str | None:
    """Return why this cannot be used as a pattern, in sentences; None when it can."""
    if not isinstance(pattern, str) or not pattern:
        return "A pattern is a non-empty text."
    try:
        expression_of(pattern)
    except NotAPattern as error:
        return refusal_of(pattern, error)
    return None


def list_problem(patterns: Sequence[object]) -> str | None:
    """Return why this cannot be used as a list of patterns, in sentences; None when it can."""
    for pattern in patterns:
        problem = pattern_problem(pattern)
        if problem is not None:
            return problem
    if sum(expression_of(str(pattern)).size for pattern in patterns) > LARGEST_LIST:
        return "All patterns together are too large. Use fewer, or shorter repeats."
    return None


def refusal_of(pattern: str, error: NotAPattern) -> str:
    """Return what is wrong with a pattern, with the pattern."""
    what = (
        "cannot be evaluated" if isinstance(error, NotEvaluated) else "is not a regular expression"
    )
    return f"{pattern[:100]!r} {what}: {error}"


def _measured(text: str) -> Expression:
    try:
        size: int = re2.compile(text, _options()).programsize
    except re2.error:
        size = LARGEST + 1
    if size > LARGEST:
        raise NotEvaluated("it is too large. Use smaller counts, or several shorter patterns.")
    return Expression(text, size)


def _parts(expressions: Iterable[Expression]) -> Iterator[tuple[int, list[str]]]:
    first, size, texts = 0, 0, list[str]()
    for expression in expressions:
        if texts and size + expression.size > _TOGETHER:
            yield first, texts
            first, size, texts = first + len(texts), 0, []
        texts.append(expression.text)
        size += expression.size
    if texts:
        yield first, texts


def _read_glob(glob: str) -> Iterator[str]:
    """Yield what RE2 reads for each part of a glob, as Python's fnmatch takes it apart."""
    rest = _encoded(glob).decode()
    while rest:
        first, rest = rest[0], rest[1:]
        end = rest.find("]", 2 if rest.startswith("!") else 1)
        if first == "*":
            yield _ANYTHING
        elif first == "?":
            yield _ANYTHING.removesuffix("*")
        elif first == "[" and end > 0:
            yield _glob_class(rest[:end])
            rest = rest[end + 1 :]
        else:
            yield code(ord(first))


def _glob_class(inside: str) -> str:
    is_negated, inside = inside.startswith("!"), inside.removeprefix("!")
    found = []
    while inside:
        is_range = len(inside) > 2 and inside[1] == "-"  # noqa: PLR2004  a-z
        first, last = ord(inside[0]), ord(inside[2 if is_range else 0])
        if last < first:
            raise NotEvaluated(f"the range {inside[:3]} ends before it begins.")
        found.append(f"{code(first)}-{code(last)}")
        inside = inside[3 if is_range else 1 :]
    return f"[{'^' if is_negated else ''}{''.join(found)}]"


def _encoded(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY_BYTES
    return options
