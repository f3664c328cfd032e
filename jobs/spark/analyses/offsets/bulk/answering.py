"""Questions of one part answered at once: done in a Spark task, which opens the archive itself.

The folders of the archive and of the answer are on the driver's machine: Spark runs there, or shares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.memory import bounded_memory
from jobs.numbers import format_bytes
from jobs.replication.flow.selection import (
    copies_heartbeats,
    explain_topic,
    policy_of,
    should_replicate,
)
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.mirror_client import rename_topic
from jobs.replication.offset_sync_store import TOO_OLD
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.sync_rows import NOTHING
from jobs.replication.translation.bounds import Why
from jobs.replication.translation.questions import NO_LIMITS, Limits
from jobs.replication.translation.translator import Translator
from jobs.spark.analyses.offsets.bulk.question_files import (
    FIELD,
    MOST_REFUSED,
    Part,
    parts_of,
    refusal,
)
from jobs.spark.analyses.offsets.bulk.question_rows import QUESTIONS, Read

NOT_OF_THE_FLOW = "The flow copies no topic that is called so on its target."
_TEXTS = [why.text for why in Why]
# What reading a list may take of memory beside what its task has already.
READING_BYTES = 384 << 20
# So many questions are answered together; so many rows that are refused are kept of a list.
TOGETHER, KEPT_REFUSED = 200_000, 10_000
# Partitions without any offset sync are listed up to so many.
MOST_UNKNOWN = 20_000


@dataclass(frozen=True)
class Asking:
    """What all parts have in common.

    `at_ms`: what was known then, None: now. `group`: of this one only. `has_lines`: whether the questions
    are in an uploaded list. Topics have their names on the side of the given offsets.
    """

    folder: Path
    flow: FlowSpec | None = None
    at_ms: int | None = None
    is_reverse: bool = False
    group: str | None = None
    has_lines: bool = True
    ends: Limits = NO_LIMITS

    @cached_property
    def translator(self) -> Translator:
        """What the archive says; opened where it is first asked, once in a process."""
        return open_translator(self.folder, as_of_ms=self.at_ms)

    @cached_property
    def source_of(self) -> Mapping[str, str]:
        """The names on the source of topics by their names on the target."""
        if self.flow is None:
            return {}
        return {
            remote_of(self.flow, topic): topic
            for topic in {where.topic for where in self.translator.partitions}
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what each process opens itself."""
        own = {"translator", "source_of"}
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def name(self, topic: str) -> Named:
        """Return the names of a topic on both sides."""
        flow = self.flow
        if flow is None:
            return Named(topic)
        if self.is_reverse:
            source = self.source_of.get(topic)
            return Named(source, source) if source else Named("", None, NOT_OF_THE_FLOW)
        left_out = None
        if not (should_replicate(flow, topic) or copies_heartbeats(flow, topic)):
            described = TopicDescription(topic, None, is_internal=False, partitions=())
            left_out = f"The flow leaves it out: {explain_topic(flow, described).reason}"
        return Named(topic, remote_of(flow, topic), left_out)


class Named(NamedTuple):
    """A topic by its name in the offset syncs (empty: it has none) and on the other side (None: not known).

    `unknown`: why there is no offset sync of it, where more is known than that.
    """

    source: str
    other: str | None = None
    unknown: str | None = None


@dataclass(slots=True)
class Tally:
    """What was counted of answers; `refusal`: why the list was given up.

    `unknown` are partitions without any offset sync, at most `MOST_UNKNOWN` of them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    unknown: set[TopicPartition] = field(default_factory=set)
    refusal: str = ""

    def add(self, other: Tally) -> None:
        """Take what another part counted."""
        self.counts.update(other.counts)
        self.unknown |= set(islice(other.unknown - self.unknown, MOST_UNKNOWN - len(self.unknown)))
        self.refusal = self.refusal or other.refusal


def remote_of(flow: FlowSpec, topic: str) -> str:
    """Return what a topic of the source is called on the target."""
    aliases = {"source_alias": flow.source.alias, "target_alias": flow.target.alias}
    return rename_topic(policy_of(flow), topic, **aliases)


class Listed(NamedTuple):
    """The parts of a list, or why it is none."""

    parts: Sequence[Part] = ()
    refusal: str = ""


def list_parts(path: Path, tasks: int, most_rows: int) -> Listed:
    """Do what a Spark task does first with a list: look at it as a whole, with bounded memory."""
    try:
        with bounded_memory(READING_BYTES):
            return Listed(parts_of(path, tasks, most_rows))
    except InvalidFields as wrong:
        return Listed(refusal=wrong.errors[FIELD])
    except MemoryError:
        return Listed(refusal=_TOO_MUCH)


_TOO_MUCH = (
    f"Reading it takes more than {format_bytes(READING_BYTES)} of memory: write it again with smaller pages "
    "and row groups, or as CSV."
)


class AnswerPart:
    """What a Spark task does: reads a part, answers, and writes both tables; named by numbers of parts."""

    def __init__(self, asking: Asking, parts: Sequence[Part], answers: Path, refused: Path) -> None:
        self.asking, self.parts = asking, parts
        self.answers, self.refused = answers, refused

    def __call__(self, number: int) -> Tally:
        tally, refused = Tally(), list[pa.Table]()
        try:
            _write(self._answers(self.parts[number], tally, refused), self.answers, number)
        except InvalidFields as wrong:
            tally.refusal = wrong.errors[FIELD]
        if refused:
            _write(iter(refused), self.refused, number)
        return tally

    def write_nothing(self) -> Tally:
        """Write the answers to no questions."""
        table, tally = answer(self.asking, QUESTIONS.empty_table())
        _write(iter([table]), self.answers, 0)
        return tally

    def _answers(self, part: Part, tally: Tally, refused: list[pa.Table]) -> Iterator[pa.Table]:
        """Yield answers, and count what they are; raises InvalidFields when the list is given up."""
        for read in _together(_bounded(part.read())):
            kept = KEPT_REFUSED - tally.counts["refused"]
            if kept > 0 and len(read.refused):
                refused.append(read.refused.slice(0, kept))
            questions = read.questions
            if self.asking.group is not None:
                questions = questions.filter(pc.equal(questions["group"], self.asking.group))
            table, counted = answer(self.asking, questions)
            counted.counts["refused"] = len(read.refused)
            tally.add(counted)
            if tally.counts["refused"] >= MOST_REFUSED:
                line, _, reason = read.refused.slice(len(read.refused) - 1).to_pylist()[0].values()
                raise refusal(
                    f"{MOST_REFUSED:,} of its rows from row {part.line:,} on are refused, so the rest was "
                    f"not read. Row {line:,}: {reason}"
                )
            yield table


def _bounded(reads: Iterator[Read]) -> Iterator[Read]:
    """Read with bounded memory; raises InvalidFields where it is not enough."""
    while True:
        try:
            with bounded_memory(READING_BYTES):
                read = next(reads, None)
        except MemoryError:
            raise refusal(_TOO_MUCH) from None
        if read is None:
            return
        yield read


def _together(reads: Iterator[Read]) -> Iterator[Read]:
    """Join small blocks, at least to one: each is answered with all offset syncs that it needs."""
    found, rows, refused = list[Read](), 0, 0
    for read in reads:
        found.append(read)
        rows, refused = rows + len(read.questions), refused + len(read.refused)
        if rows >= TOGETHER or refused >= KEPT_REFUSED:
            yield _joined(found)
            found, rows, refused = [], 0, 0
    if found:
        yield _joined(found)


def _joined(reads: Sequence[Read]) -> Read:
    return Read(*(pa.concat_tables(side) for side in zip(*reads, strict=True)))


def _write(tables: Iterator[pa.Table], folder: Path, number: int) -> None:
    """Write a file, with its name when it is whole."""
    # Another try of the same task may write at the same time.
    path = folder / f"part-{number:06}.parquet"
    partial = path.with_suffix(f".{np.random.default_rng().integers(1 << 62)}")
    first = next(tables)
    how: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
    with pq.ParquetWriter(partial, first.schema, **how) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    partial.rename(path)


def answer(asking: Asking, questions: pa.Table) -> tuple[pa.Table, Tally]:
    """Return the answers to questions (see `QUESTIONS`), in their order."""
    asked = _Asked.of(asking, questions)
    wheres, which, offsets = asked.sources, asked.which, asked.offsets
    translator = asking.translator
    if asking.is_reverse:
        found = translator.reverse_many(wheres, offsets, which)
        mm2 = np.full(len(offsets), NOTHING, np.int64)
    else:
        found = translator.translate_many(wheres, offsets, which)
        mm2 = translator.mm2_many(wheres, offsets, which)
    reasons, is_wrong = asked.reasons(asking.ends, found.why)
    none = is_wrong | (found.why == Why.NO_SYNC)
    is_open = none | (found.hi < 0)
    exact = found.exact & ~none
    lines = questions["line"] if asking.has_lines else pa.nulls(len(offsets), pa.int64())
    table = pa.table(
        {
            "line": lines,
            "group": questions["group"],
            "topic": questions["topic"],
            "partition": questions["partition"],
            "offset": questions["offset"],
            "to_topic": asked.others,
            "lo": pa.array(found.lo, mask=none),
            "hi": pa.array(found.hi, mask=is_open),
            "exact": pa.array(exact),
            "mm2": pa.array(mm2, mask=mm2 == NOTHING),
            "width": pa.array(found.hi - found.lo, mask=is_open),
            "reason": reasons,
        }
    )
    without = np.unique(which[(found.why == Why.NO_SYNC) & ~is_wrong]).tolist()
    counts = Counter(
        {
            "questions": len(offsets),
            "answered": int((~none).sum()),
            "exact": int(exact.sum()),
            "wrong": int(is_wrong.sum()),
            "mm2_too_old": int((mm2 == TOO_OLD).sum()),
        }
    )
    return table, Tally(counts, {asked.wheres[number] for number in without})


@dataclass(slots=True)
class _Asked:
    """Questions by numbers of the partitions that they are about."""

    wheres: list[TopicPartition]
    sources: list[TopicPartition]
    named: list[Named]
    which: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    others: pa.Array

    @classmethod
    def of(cls, asking: Asking, questions: pa.Table) -> _Asked:
        topics = questions["topic"].combine_chunks().dictionary_encode()
        names = topics.dictionary.to_pylist()
        named = [asking.name(name) for name in names]
        codes = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        partitions = questions["partition"].to_numpy()
        keys, which = np.unique((codes << 32) | partitions, return_inverse=True)
        pairs = [(key >> 32, key & 0xFFFFFFFF) for key in keys.tolist()]
        others = pa.array([one.other for one in named], pa.string())
        return cls(
            [TopicPartition(names[code], number) for code, number in pairs],
            [TopicPartition(named[code].source, number) for code, number in pairs],
            [named[code] for code, _ in pairs],
            which,
            questions["offset"].to_numpy(),
            others.take(topics.indices),
        )

    def reasons(self, ends: Limits, why: npt.NDArray[np.uint8]) -> tuple[pa.Array, Any]:
        """Return why each answer is as it is, and which questions ask for what is not there."""
        texts, chosen = list(_TEXTS), why.astype(np.int64)

        def say(say_of: Callable[[int], str | None]) -> npt.NDArray[np.int64]:
            """Return the number of what is said of each partition, -1 for nothing."""
            told = np.full(len(self.wheres), -1, np.int64)
            for number in range(len(self.wheres)):
                text = say_of(number)
                if text is not None:
                    told[number] = len(texts)
                    texts.append(text)
            return told

        left_out = say(lambda number: self.named[number].unknown)[self.which]
        chosen = np.where((why == Why.NO_SYNC) & (left_out >= 0), left_out, chosen)
        highest = np.array([ends.ends.get(where, -1) for where in self.wheres], np.int64)
        is_behind = (highest[self.which] >= 0) & (self.offsets > highest[self.which])
        behind = set(np.unique(self.which[is_behind]).tolist())
        ended = say(lambda n: ends.end_text(self.wheres[n]) if n in behind else None)[self.which]
        chosen = np.where(is_behind, ended, chosen)
        faults = [ends.missing(where) for where in self.wheres]
        missing = say(lambda number: (faults[number] or ("", None))[1])[self.which]
        chosen = np.where(missing >= 0, missing, chosen)
        return pa.array(texts).take(pa.array(chosen)), is_behind | (missing >= 0)
