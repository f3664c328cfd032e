"""`crosslog translate`: where offsets are on the other side, from a dump of offset syncs or an archive."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.archives import BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands import command
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.archive_manifest import read_manifest
from jobs.replication.offset_syncs.dump import BadDump, bounded_lines, read_dump
from jobs.replication.translation.bounds import Facts, Why
from jobs.replication.translation.questions import Question, Questions, parse_questions
from jobs.replication.translation.sync_history import Certificate
from jobs.replication.translation.translator import Translator

if TYPE_CHECKING:
    from jobs.cluster.client import ClusterClient
    from jobs.replication.flow.spec import FlowSpec

_FEW = 5
# A list of so many bytes holds more offsets than are taken at once.
LARGEST_LIST_BYTES = 16 << 20


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        questions = _questions(arguments)
        translator = _translator(arguments)
        if arguments.offsets is None:
            _check_known(translator, questions.questions[0].where)
        with refiner_of(arguments.refine) as refiner:
            for question in questions.questions:
                told = answer(translator, question, refiner, is_reverse=arguments.reverse)
                _print(question, told, arguments)
    except (OSError, ValueError) as error:
        return command.refuse(error)
    for problem in questions.problems:
        _refuse(problem.line, problem.text, arguments)
    hidden = questions.problem_count - len(questions.problems)
    if hidden:
        command.say(f"{arguments.offsets}: {hidden} more lines cannot be read")
    return command.BAD_INPUT if questions.problem_count else command.OK


def answer(
    translator: Translator,
    question: Question,
    refiner: Refiner | None = None,
    *,
    is_reverse: bool,
) -> dict[str, Any]:
    """Return what is known of an offset as JSON values."""
    where, offset = question.where, question.offset
    if is_reverse:
        return to_mapping(translator.reverse(where, offset), None)
    found = translator.translate(where, offset)
    if refiner is not None and found is not None:
        found = refiner(where, offset, found)
    return to_mapping(found, translator.mm2(where, offset))


def to_mapping(found: Certificate | None, mm2: int | None) -> dict[str, Any]:
    """Return an answer as JSON values; without any offset sync there are no bounds."""
    if found is None:
        nothing = {"lo": None, "hi": None, "exact": False, "mm2": mm2}
        return {**nothing, "reason": Why.NO_SYNC.text, "evidence": []}
    return {
        "lo": found.lo,
        "hi": found.hi,
        "exact": found.exact,
        "mm2": mm2,
        "reason": found.reason,
        "evidence": [sync._asdict() for sync in found.evidence],
    }


def _questions(arguments: argparse.Namespace) -> Questions:
    """Return the questions; raises ValueError."""
    one = (arguments.topic, arguments.partition, arguments.offset)
    if arguments.refine is not None and arguments.reverse:
        raise ValueError("--refine compares records for the way there only: leave --reverse out")
    if arguments.offsets is not None:
        if any(part is not None for part in one):
            raise ValueError("give --offsets, or --topic, --partition and --offset, not both")
        return _listed(arguments.offsets)
    if any(part is None for part in one):
        raise ValueError("--topic, --partition and --offset are needed, or --offsets")
    if arguments.offset < 0:
        raise ValueError(f"an offset is 0 or more, not {arguments.offset}")
    where = TopicPartition(arguments.topic, arguments.partition)
    return Questions([Question(1, where, arguments.offset)])


def _listed(path: Path) -> Questions:
    content = command.read_bounded(path, LARGEST_LIST_BYTES, ": split the list")
    try:
        return parse_questions(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8: it is no list") from None


def _translator(arguments: argparse.Namespace) -> Translator:
    """Return who answers; raises OSError and ValueError."""
    facts = Facts(arguments.target_has_no_gaps, arguments.same_topic, arguments.all_changes_told)
    at_ms = None if arguments.at is None else arguments.at.timestamp_ms
    if arguments.archive is not None:
        return _archived(arguments.archive, facts, at_ms)
    if at_ms is not None:
        raise ValueError("--at needs --archive: a dump does not say what was known when")
    path: Path = arguments.syncs
    try:
        with path.open(encoding="utf-8") as file:
            dump = read_dump(bounded_lines(file))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not UTF-8: it is no dump") from None
    except BadDump as error:
        raise ValueError(f"{path}: {error}") from None
    for problem, count in dump.refused.most_common():
        command.say(f"{path}: passed by {count} records: {problem}")
    return dump.translator(facts=facts)


def _archived(folder: Path, facts: Facts, at_ms: int | None) -> Translator:
    try:
        manifest = read_manifest(folder)
        if manifest is None:
            raise ValueError(f"{folder}: there is no archive of offset syncs")
        for gap in manifest.gaps:
            command.say(f"{folder}: before append {gap.before}: {gap.reason}")
        return open_translator(folder, facts=facts, as_of_ms=at_ms)
    except BadArchive as error:
        raise ValueError(str(error)) from None


def _check_known(translator: Translator, where: TopicPartition) -> None:
    if where not in translator.partitions:
        known = ", ".join(str(one) for one in sorted(translator.partitions)[:_FEW])
        more = ", ..." if len(translator.partitions) > _FEW else ""
        there = (
            f"there are some of {known}{more}" if known else "there are some of no partition at all"
        )
        raise ValueError(f"there is no offset sync of {where}; {there}")


def _print(question: Question, told: dict[str, Any], arguments: argparse.Namespace) -> None:
    asked = question.where._asdict() | {"line": question.line, "offset": question.offset}
    document = told if arguments.offsets is None else {**asked, **told}
    lines = _lines(question.where, question.offset, told, is_reverse=arguments.reverse)
    command.print_answer(arguments, lambda: document, lines)


def _refuse(line: int, text: str, arguments: argparse.Namespace) -> None:
    """Name a line that is no question, also among the answers: none is lost."""
    if arguments.json:
        command.print_json({"line": line, "error": text})
    command.say(f"{arguments.offsets}: line {line}: {text}")


def _lines(
    where: TopicPartition, offset: int, told: dict[str, Any], *, is_reverse: bool
) -> Iterator[str]:
    side = "source" if is_reverse else "target"
    if told["lo"] is None:
        yield f"{where} offset {offset} is unknown on the {side}."
    elif told["exact"]:
        yield f"{where} offset {offset} is offset {told['lo']} on the {side}."
    elif told["hi"] is None:
        yield f"{where} offset {offset} is at offset {told['lo']} on the {side} or later."
    else:
        yield f"{where} offset {offset} is between {told['lo']} and {told['hi']} on the {side}."
    yield told["reason"]
    for sync in told["evidence"]:
        yield f"  offset sync {sync['upstream']} -> {sync['downstream']}"
    if not is_reverse:
        mm2 = {None: "nothing", -1: "-1: it has no offset sync that old"}
        yield f"MirrorMaker 2 says {mm2.get(told['mm2'], told['mm2'])}."


Refiner = Callable[[TopicPartition, int, Certificate], Certificate]


@contextmanager
def refiner_of(path: Path | None) -> Iterator[Refiner | None]:
    """Open both clusters of a flow file for as long as the block lasts; None without a file.

    The refiner answers with what it was given where a cluster does not answer, and says so. Raises
    ValueError for a file that is no flow.
    """
    if path is None:
        yield None
        return
    from jobs.cluster.client import ClusterClient
    from jobs.replication.flow.file import read_flow_file

    try:
        flow = read_flow_file(path)
    except InvalidFields as error:
        raise ValueError(f"{path}: {error}") from None
    with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
        yield _refiner(flow, source, target)


def _refiner(flow: FlowSpec, source: ClusterClient, target: ClusterClient) -> Refiner:
    from jobs.replication.flow.selection import policy_of
    from jobs.replication.translation.record_comparison import fingerprints_of, refine

    policy = policy_of(flow)

    def look(where: TopicPartition, upstream: int, found: Certificate) -> Certificate:
        remote = TopicPartition(
            policy.format_remote_topic(flow.source.alias, where.topic), where.partition
        )
        try:
            return refine(
                found,
                upstream,
                fingerprints_of(source, where),
                fingerprints_of(target, remote),
            )
        except ClusterFault as fault:
            command.say(f"{where} offset {upstream}: {fault} {fault.hint}")
            return found

    return look
