"""`crosslog what-if FILE.json`: what the loss of brokers, racks or controllers does to every partition."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jobs.availability.status.severity import BEFORE_LIMIT
from jobs.availability.what_if.answer_json import (
    column_mapping,
    matrix_document,
    what_if_document,
)
from jobs.availability.what_if.matrix import (
    Matrix,
    MatrixColumn,
    alike_partitions,
    matrix,
    single_failures,
)
from jobs.availability.what_if.model.cluster import ClusterModel, InvalidCluster
from jobs.availability.what_if.model.describe_text import document_of_text
from jobs.availability.what_if.model.scenario_json import steps_of
from jobs.availability.what_if.outcome import Counts, IsrState, PartitionOutcome
from jobs.availability.what_if.simulation import WhatIf, simulate
from jobs.availability.what_if.steps import Loss, Step, UncleanElection, UnknownTarget
from jobs.commands import command
from jobs.visible import print_lines

LARGEST_DOCUMENT_BYTES = 512 << 20
MOST_LINES = 40
MOST_COLUMNS = 200
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        document = _read(arguments.file)
        cluster = ClusterModel.from_json(document)
        _check_topic(arguments.topic, cluster)
        if arguments.matrix:
            return _matrix(arguments, cluster)
        answer = simulate(cluster, _steps(arguments, document))
    except UnknownTarget as error:
        return _refuse(arguments, {_option(path): what for path, what in error.problems.items()})
    except InvalidCluster as error:
        return _refuse(arguments, error.problems)
    except (OSError, ValueError) as error:
        return command.refuse(error)
    topic = arguments.topic
    command.print_answer(
        arguments, lambda: _of_topic(what_if_document(answer), topic), lines(answer, topic)
    )
    return command.FINDING if answer.does_harm else command.OK


def _refuse(arguments: argparse.Namespace, problems: dict[str, str]) -> int:
    for path, sentence in problems.items():
        command.say(f"{arguments.file}: {path}: {sentence}" if path else sentence)
    return command.BAD_INPUT


def _option(path: str) -> str:
    """Return the option that said what a step has wrong: `steps[0].racks` is `--lose-rack`."""
    kind = path.rpartition(".")[2]
    return f"--lose-{kind.removesuffix('s')}"


def _read(path: Path) -> Any:
    content = command.read_bounded(path, LARGEST_DOCUMENT_BYTES, may_be_stdin=True)
    try:
        return document_of_text(content.decode(json.detect_encoding(content), "replace"))
    except InvalidCluster as error:
        raise ValueError(f"{path}: {error}") from None


def _check_topic(topic: str | None, cluster: ClusterModel) -> None:
    if topic is not None and all(one.topic != topic for one in cluster.partitions):
        raise InvalidCluster({"--topic": f"There is no topic {topic}."})


def _steps(arguments: argparse.Namespace, document: Any) -> Sequence[Step]:
    losses: list[Loss] = arguments.losses
    found: list[Step] = [_merged(losses)] if arguments.together and losses else [*losses]
    if not found:
        found = [*steps_of(document)]
    if arguments.unclean:
        found.append(UncleanElection())
    if not found:
        raise ValueError("Say what is lost: --lose-rack, --lose-broker, --lose-controller.")
    return found


def _merged(losses: Sequence[Loss]) -> Loss:
    return Loss(
        brokers=frozenset().union(*(one.brokers for one in losses)),
        racks=frozenset().union(*(one.racks for one in losses)),
        controllers=frozenset().union(*(one.controllers for one in losses)),
    )


def _of_topic(told: dict[str, Any], topic: str | None) -> dict[str, Any]:
    if topic is not None:
        for part in (told, *told["steps"]):
            part["partitions"] = [one for one in part["partitions"] if one["topic"] == topic]
            part["topics"] = {name: one for name, one in part["topics"].items() if name == topic}
    return told


_NOT_IN_LOG = (
    "neither the topic nor a cluster default sets it, and a metadata log does not hold server.properties. "
    "`kafka-configs.sh --describe --all --entity-type topics --entity-name TOPIC` prints it."
)


def lines(answer: WhatIf, topic: str | None = None) -> Iterator[str]:
    """Yield an answer for a person: each step with what it changes, the worst first."""
    yield f"quorum now: {answer.quorum_before.sentence}"
    told = [one for one in answer.overall if topic in {None, one.topic}]
    yield from _not_known(MIN_ISR, [one.min_insync_replicas is None for one in told])
    stuck = [one for one in told if one.condition and not one.is_changed]
    yield from (f"  {one.topic}-{one.partition}: {one.condition}" for one in stuck[:MOST_LINES])
    for step in answer.steps:
        yield ""
        yield step.name
        yield f"  quorum: {step.quorum.sentence}"
        if step.quorum.deadly_racks:
            yield f"  the loss of rack {' or of rack '.join(step.quorum.deadly_racks)} would end it"
        yield f"  {_sums(step.cluster)}"
        changed = [one for one in step.partitions if one.is_changed and topic in {None, one.topic}]
        changed.sort(key=lambda one: -one.after.severity)
        yield from (f"  {line}" for line in _table(changed[:MOST_LINES]))
        if len(changed) > MOST_LINES:
            yield f"  and {len(changed) - MOST_LINES:,} more: --json prints all"


def _not_known(setting: str, unknown: Sequence[bool]) -> Iterator[str]:
    if any(unknown):
        count = f"{sum(unknown):,} of {len(unknown):,} partitions"
        yield f"{setting} of {count} is not known: {_NOT_IN_LOG}"


def _sums(sums: Counts) -> str:
    words = [
        (sums.became_unwritable, "no longer writable"),
        (sums.unknown, "of which it is not known whether they are writable"),
        (sums.offline, "without leader"),
        (sums.needs_unclean, "need an unclean election"),
        (sums.lost, "lost"),
        (sums.at_risk - sums.lost, "waiting"),
        (sums.exposed, "with one copy"),
    ]
    told = ", ".join(f"{count:,} {word}" for count, word in words if count)
    return f"{sums.partitions:,} partitions: {told or 'all healthy'}"


_WRITES = {True: "", False: ", no writes", None: ", writes not known"}


def _table(changed: Sequence[PartitionOutcome]) -> Iterator[str]:
    rows = [("partition", "before", "after", "severity", "data")]
    rows += [
        (
            f"{one.topic}-{one.partition}",
            _state(one.before),
            _state(one.after),
            one.after.severity.word + _WRITES[one.after.is_writable],
            " ".join(filter(None, (one.data_at_risk.sentence, one.condition))),
        )
        for one in changed
    ]
    if changed:
        starts = command.aligned([row[:-1] for row in rows])
        yield from (f"{start}  {row[-1]}" for start, row in zip(starts, rows, strict=True))


def _state(state: IsrState) -> str:
    leader = "none" if state.leader is None else state.leader
    elr = f" elr {_ids(state.elr)}" if state.elr else ""
    return f"leader {leader} isr {_ids(state.isr)}{elr}"


def _ids(ids: Sequence[int]) -> str:
    return f"[{','.join(map(str, ids))}]"


def _matrix(arguments: argparse.Namespace, cluster: ClusterModel) -> int:
    classes, failures = alike_partitions(cluster), single_failures(cluster)
    answer = matrix(classes, arguments.losses or failures[:MOST_COLUMNS])
    worst = matrix(classes, failures).worst
    if arguments.json:
        told = matrix_document(answer)
        told["worst_single_failure"] = _worst(worst)
        for part in told["losses"]:
            if arguments.topic is not None:
                part["topics"] = {arguments.topic: part["topics"][arguments.topic]}
        command.print_json(told)
    else:
        print_lines(_matrix_lines(cluster, answer, worst))
    return command.FINDING if any(one.does_harm for one in answer.columns) else command.OK


def _worst(worst: MatrixColumn | None) -> dict[str, Any] | None:
    if worst is None:
        return None
    told = column_mapping(worst)
    return {"sentence": worst.sentence, **{key: told[key] for key in told if key != "topics"}}


def _matrix_lines(
    cluster: ClusterModel, answer: Matrix, worst: MatrixColumn | None
) -> Iterator[str]:
    yield f"quorum now: {answer.quorum_before.sentence}"
    rows = [
        (
            "loss",
            "no writes",
            "not known",
            "offline",
            "lost",
            "waiting",
            "one copy",
            "new leader",
            "quorum",
        )
    ]
    for one in answer.columns:
        sums = one.cluster
        numbers = (
            sums.became_unwritable, sums.unknown, sums.offline, sums.lost, sums.at_risk - sums.lost,
            sums.exposed, sums.leader_changes,
        )  # fmt: skip
        rows.append((one.name, *(f"{number:,}" for number in numbers), one.quorum.verdict))  # type: ignore[arg-type]
    yield from command.aligned(rows, range(1, len(rows[0])))
    yield from _not_known(MIN_ISR, [one.min_insync_replicas is None for one in cluster.partitions])
    more = [
        one for one in cluster.partitions if one.asks_for_more and one.limits_min_isr is not False
    ]
    if more:
        yield f"{MIN_ISR} of {len(more):,} partitions is more than their replicas: {BEFORE_LIMIT}."
    unclean = [one.is_unclean_allowed is None for one in cluster.partitions]
    if any(unclean) and any(one.cluster.needs_unclean for one in answer.columns):
        yield from _not_known(UNCLEAN, unclean)
        yield f"offline: as with {UNCLEAN}=false."
    yield f"worst single failure: {worst.sentence if worst else 'none has an effect.'}"
