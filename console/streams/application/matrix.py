"""Which instance runs which task: a cell for each of few tasks, counts and ranges of many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.streams.application import Application, Process, Role, TaskId

# A wider or larger matrix is no picture any more: it becomes counts and ranges.
MOST_COLUMNS, MOST_CELLS = 40, 2_000
_LONGEST_RANGES = 8
SIGNS = {Role.ACTIVE: "A", Role.STANDBY: "S", Role.WARM_UP: "W"}
NO_THREAD = "No thread"


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What an instance does with a task: the sign, and the same in words; both empty for nothing."""

    sign: str
    word: str
    look: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """An instance and its cells; the last row may be of tasks that no thread runs."""

    place: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class MatrixBlock:
    """The tasks of one subtopology, by partition."""

    subtopology: str
    partitions: tuple[int, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True)
class CompactRow:
    """What one instance has of one subtopology: how many tasks in each role, and which partitions."""

    subtopology: str
    place: str
    active: int
    standby: int
    warm_up: int
    partitions: str
    is_lost: bool = False


_NOTHING = MatrixCell("", "", "")
_LOST = MatrixCell("!", "no active thread", "lost")
_CELLS = {role: MatrixCell(sign, role.value, role.name.lower()) for role, sign in SIGNS.items()}


def is_compact(application: Application) -> bool:
    """Return whether an application has too many tasks or instances for cells."""
    columns = _by_subtopology(application)
    cells = len(application.placements) * len(application.processes)
    widest = max(map(len, columns.values()), default=0)
    return widest > MOST_COLUMNS or cells > MOST_CELLS


def matrix_of(application: Application) -> list[MatrixBlock]:
    """Return a block for each subtopology."""
    return [
        _block(application, name, tasks) for name, tasks in _by_subtopology(application).items()
    ]


def compact_rows(application: Application) -> list[CompactRow]:
    """Return rows by subtopology, those of tasks that no thread runs first."""
    held: dict[tuple[str, str, str], dict[Role, list[int]]] = defaultdict(lambda: defaultdict(list))
    lost: dict[str, list[int]] = defaultdict(list)
    for task, placements in application.placements.items():
        if not (application.left_out or any(one.role is Role.ACTIVE for one in placements)):
            lost[task.subtopology].append(task.partition)
        for one in placements:
            key = (task.subtopology, one.process.place, one.process.process_id)
            held[key][one.role].append(task.partition)
    rows = [
        CompactRow(name, NO_THREAD, 0, 0, 0, ranges(own), is_lost=True)
        for name, own in sorted(lost.items())
    ]
    for (name, place, _), own in sorted(held.items()):
        active, standby, warm_up = (len(own[role]) for role in Role)
        partitions = ranges(own[Role.ACTIVE])
        rows.append(CompactRow(name, place, active, standby, warm_up, partitions))
    return rows


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: 0-3, 7; of many ranges the first ones."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    told = [f"{a}" if a == b else f"{a}-{b}" for a, b in spans[:_LONGEST_RANGES]]
    more = f" and {len(spans) - _LONGEST_RANGES} more" if len(spans) > _LONGEST_RANGES else ""
    return ", ".join(told) + more


def _by_subtopology(application: Application) -> Mapping[str, list[TaskId]]:
    found: dict[str, list[TaskId]] = defaultdict(list)
    for task in application.placements:
        found[task.subtopology].append(task)
    return dict(sorted(found.items()))


def _block(application: Application, name: str, tasks: list[TaskId]) -> MatrixBlock:
    rows = [_row(application, process, tasks) for process in application.processes]
    lost = tuple(
        _NOTHING
        if application.left_out
        or any(one.role is Role.ACTIVE for one in application.placements[task])
        else _LOST
        for task in tasks
    )
    if _LOST in lost:
        rows.append(MatrixRow(NO_THREAD, lost))
    return MatrixBlock(name, tuple(task.partition for task in tasks), tuple(rows))


def _row(application: Application, process: Process, tasks: list[TaskId]) -> MatrixRow:
    cells = []
    for task in tasks:
        own = [one.role for one in application.placements[task] if one.process is process]
        cells.append(_CELLS[own[0]] if own else _NOTHING)
    return MatrixRow(process.place, tuple(cells))
