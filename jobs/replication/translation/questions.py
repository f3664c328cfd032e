"""Offsets stored outside Kafka, read from pasted or uploaded text. Pure.

Understood are:
    CSV      topic,partition,offset  or  group,topic,partition,offset (as kafka-consumer-groups.sh
             --export prints it), with or without a line of names, separated by commas, semicolons or tabs
    JSON     [{"topic": "orders", "partition": 0, "offset": 42}, ...], one such object a line, or
             {"orders": {"0": 42}}, the form of Spark's startingOffsets
    Spark    a file of a checkpoint's folder offsets/: v1, a line about the batch, a line for each source
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.json_text import BadJson, parse_json

MOST_QUESTIONS = 50_000
MOST_PROBLEMS = 50
# A list is given up when so many of its first rows are refused, or so many of all.
MOST_REFUSED_FIRST, FIRST_ROWS, MOST_REFUSED = 1_000, 10_000, 10_000
LONGEST_TOPIC, LONGEST_GROUP = 249, 255
HIGHEST_OFFSET = 2**63 - 1
HIGHEST_PARTITION = 2**31 - 1
_NAMES = ("group", "topic", "partition", "offset")
_SPARK = "v1"


@dataclass(frozen=True, slots=True)
class Question:
    """An offset of a partition, and where it was: the number of its line or entry, from 1 on."""

    line: int
    where: TopicPartition
    offset: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a line is no question. `line` 0: about all of it."""

    line: int
    text: str

    @property
    def line_text(self) -> str:
        """The number of the line, to be joined with words."""
        return f"{self.line:,}"


class GivenUp(Exception):
    """A list holds mostly something else."""


@dataclass(slots=True)
class Questions:
    """What was read. `problem_count` counts also the problems that are not kept."""

    questions: list[Question] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    form: str = ""

    def refuse(self, line: int, text: str) -> None:
        """Take a problem; raises `GivenUp` when there are too many."""
        self.problem_count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(line, text))
        rows = self.problem_count + len(self.questions)
        is_first = rows <= FIRST_ROWS and self.problem_count >= MOST_REFUSED_FIRST
        if is_first or self.problem_count >= MOST_REFUSED:
            raise GivenUp(f"{self.problem_count:,} of its first {rows:,} rows are refused")

    def take(self, line: int, values: Mapping[str, Any]) -> bool:
        """Take a question, or its problem; False when there are too many already."""
        if len(self.questions) >= MOST_QUESTIONS:
            self.refuse(
                line, f"Only the first {MOST_QUESTIONS:,} offsets are taken: split the list."
            )
            return False
        try:
            self.questions.append(_question(line, values))
        except ValueError as problem:
            self.refuse(line, str(problem))
        return True


def parse_questions(text: str) -> Questions:
    """Read a list of offsets; what cannot be read is named by its line, and the rest counts."""
    stripped = text.lstrip("\ufeff \t\r\n")
    found = Questions()
    if not stripped:
        found.refuse(0, "There is nothing in it.")
    elif "\0" in stripped:
        found.refuse(0, "It is not text: it holds a zero byte.")
    else:
        try:
            _read(text, stripped, found)
        except GivenUp as given_up:
            first = found.problems[0]
            reason = f"{given_up}, so it was given up. Line {first.line_text}: {first.text}"
            return Questions([], [Problem(0, reason)], found.problem_count, found.form)
    if not found.questions and not found.problems:
        found.refuse(0, "There is no offset in it.")
    return found


def _read(text: str, stripped: str, found: Questions) -> None:
    if stripped.split("\n", 1)[0].strip() == _SPARK:
        _read_spark(stripped, found)
    elif stripped[0] in "[{":
        _read_json(stripped, found)
    else:
        _read_csv(text.lstrip("\ufeff"), found)


def _read_spark(text: str, found: Questions) -> None:
    found.form = "Spark checkpoint"
    for number, line in enumerate(text.splitlines(), start=1):
        # The second line is about the batch, not about a source.
        if number <= 2 or not line.strip() or line.strip() == "-":  # noqa: PLR2004  v1 and the batch
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            found.refuse(number, "It is not JSON, so no offsets of Kafka.")
            continue
        if not _take_nested(value, number, found):
            found.refuse(
                number, "It has not the form of offsets of Kafka: another source, perhaps."
            )


def _read_json(text: str, found: Questions) -> None:
    found.form = "JSON"
    try:
        value = parse_json(text)
    except BadJson as problem:
        if "\n" in text.strip() and text.startswith("{"):
            _read_json_lines(text, found)
        else:
            found.refuse(problem.line, str(problem))
    else:
        _take_json(value, found)


def _take_json(value: object, found: Questions) -> None:
    if isinstance(value, list):
        for number, entry in enumerate(value, start=1):
            if not _take_object(entry, number, found):
                return
    elif isinstance(value, dict) and "offset" in value:
        _take_object(value, 1, found)
    elif not _take_nested(value, 1, found):
        found.refuse(1, 'It is neither a list of offsets nor of the form {"orders": {"0": 42}}.')


def _read_json_lines(text: str, found: Questions) -> None:
    found.form = "JSON lines"
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            found.refuse(number, "It is not JSON.")
            continue
        if not _take_object(value, number, found):
            return


def _take_object(value: object, number: int, found: Questions) -> bool:
    if isinstance(value, dict):
        return found.take(number, value)
    found.refuse(number, "It is no object with topic, partition and offset.")
    return True


def _take_nested(value: object, number: int, found: Questions) -> bool:
    """Take {"orders": {"0": 42}}; False when it is not of that form."""
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        return False
    for topic, partitions in value.items():
        for partition, offset in partitions.items():
            if not found.take(number, {"topic": topic, "partition": partition, "offset": offset}):
                return True
    return True


def _read_csv(text: str, found: Questions) -> None:
    found.form = "CSV"
    names: Sequence[str] = ()
    for number, cells in _rows(text, found):
        lowered = [cell.strip().lower() for cell in cells]
        if not names and {"topic", "partition", "offset"} <= set(lowered):
            names = lowered
            continue
        own = names or _names_of(cells)
        if len(own) != len(cells):
            found.refuse(number, f"Fields: {len(cells)}. Needed: topic, partition and offset.")
        elif not found.take(number, dict(zip(own, cells, strict=True))):
            return


def _rows(text: str, found: Questions) -> Iterator[tuple[int, list[str]]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = next((sign for sign in ("\t", ";", ",") if sign in first), ",")
    reader = csv.reader(text.splitlines(), delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            found.refuse(reader.line_num, f"It is no line of a table: {problem}.")
            continue
        if any(cell.strip() for cell in cells):
            yield reader.line_num, cells


def _names_of(cells: Sequence[str]) -> Sequence[str]:
    """Return what the fields of a table without names are."""
    return _NAMES if len(cells) == len(_NAMES) else _NAMES[1:]


def _question(line: int, values: Mapping[str, Any]) -> Question:
    topic, group = values.get("topic"), str(values.get("group") or "").strip()
    if not isinstance(topic, str) or not topic.strip():
        raise ValueError("It names no topic.")
    for name, text, most in (("topic", topic, LONGEST_TOPIC), ("group", group, LONGEST_GROUP)):
        if len(text.strip()) > most:
            raise ValueError(f"Its {name} has more than {most} characters.")
    partition = _number(values.get("partition"), "partition", HIGHEST_PARTITION)
    offset = _number(values.get("offset"), "offset", HIGHEST_OFFSET)
    return Question(line, TopicPartition(topic.strip(), partition), offset, group)


def _number(value: object, name: str, highest: int) -> int:
    if isinstance(value, bool) or value is None:
        raise ValueError(f"It has no {name}.")
    text = str(value).strip()
    if name == "offset" and text in {"-1", "-2"}:
        raise ValueError(f"Offset {text} is a word of Kafka for one end of the log, and no offset.")
    if (
        not (text.isascii() and text.isdecimal())
        or len(text) > len(str(highest))
        or int(text) > highest
    ):
        shown = text if len(text) <= 40 else f"{text[:40]}…"  # noqa: PLR2004  what fits a line
        raise ValueError(f"{shown!r} is no {name}: a whole number from 0 to {highest}.")
    return int(text)


@dataclass(frozen=True, slots=True)
class Limits:
    """Partitions by topic (0: there is no such topic) and their log end offsets; absent: not known."""

    alias: str = ""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def fault(self, where: TopicPartition, offset: int) -> tuple[str, str] | None:
        """Return the part of a question that is wrong, and why; None where nothing is, or not known."""
        missing, end = self.missing(where), self.ends.get(where)
        if missing is None and end is not None and offset > end:
            return "offset", self.end_text(where)
        return missing

    def missing(self, where: TopicPartition) -> tuple[str, str] | None:
        """Return which part of a partition is not there, and why; None where it is, or nothing is known."""
        count = self.partition_counts.get(where.topic)
        if count == 0:
            return "topic", f"There is no topic {where.topic} on {self.alias}."
        if count is not None and where.partition >= count:
            text = f"The highest partition of {where.topic} on {self.alias} is {count - 1}."
            return "partition", text
        return None

    def end_text(self, where: TopicPartition) -> str:
        """Return what is to be said of an offset behind the end, which must be known."""
        return f"The log end offset of {where} on {self.alias} is {self.ends[where]}."


NO_LIMITS = Limits()
