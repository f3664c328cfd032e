"""Each recurring thing is written in one module: rounds, claims, findings, series, fakes, threads.

What a new room needs of them it declares. A rule names the modules; elsewhere the same code is a copy.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from tests.test_architecture import ROOT, sources


@dataclass(frozen=True)
class Once:
    """What only `places` may write, as a pattern of nodes; `example` is one of them."""

    is_it: Callable[[ast.AST], bool]
    places: frozenset[str]
    example: str
    folders: tuple[str, ...] = ("console",)


def calls(*names: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Call) and last_name(node.func) in names


def filters(words: str) -> Callable[[ast.AST], bool]:
    """Find conditions of database queries with such a keyword."""
    is_query, named = calls("filter", "exclude", "Q", "get"), re.compile(words)

    def is_it(node: ast.AST) -> bool:
        return is_query(node) and any(named.fullmatch(one.arg or "") for one in node.keywords)

    return is_it


def is_step_of_a_series(node: ast.AST) -> bool:
    """Find the begin of a step (`at_s` less its rest), and the length of a gap."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return ast.unparse(node.left) == "F('at_s')" and "F('at_s')" in ast.unparse(node.right)
    return isinstance(node, ast.Name) and node.id == "GAP_STEPS"


def is_life_of_findings(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return {"opened_at", "closed_at"} <= {
            ast.unparse(target)
            for one in node.body
            if isinstance(one, ast.Assign)
            for target in one.targets
        }
    if calls("create", "get_or_create", "bulk_create", "bulk_update")(node):
        return ast.unparse(node.func).rpartition(".")[0].endswith("Finding.objects")
    is_update = calls("update")(node)
    return is_update and any(one.arg == "closed_at" for one in node.keywords)


def is_exit_code(node: ast.AST) -> bool:
    """Find numbers that get names of exit codes, one or several at once."""
    if not isinstance(node, ast.Assign):
        return False
    is_number = re.fullmatch(r"[(\d][\d, )]*", ast.unparse(node.value))
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return bool(is_number and names & {"FINDING", "BAD_INPUT", "INTERRUPTED"})


def is_protocol_named_door(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.ClassDef)
        and node.name.endswith("Door")
        and any(last_name(base) == "Protocol" for base in node.bases)
    )


def last_name(node: ast.expr) -> str:
    return ast.unparse(node).split(".")[-1]


ROUNDS = "console/frame/rounds.py"
ONCE = {
    "whether a claim has ended": Once(
        filters(r"(\w+__)?claimed_until__\w+"),
        frozenset({"console/frame/claims.py"}),
        "rows.filter(claimed_until__lt=now)",
    ),
    "whether there is a claim": Once(
        lambda node: calls("Q")(node) and filters(r"(\w+__)?claimed_until")(node),
        frozenset({"console/frame/claims.py"}),
        "Q(claimed_until=None) | Q(state=1)",
    ),
    "how a round or a job breaks": Once(
        calls("own_fault"),
        # The last two tell of one application of a round, and of one import.
        frozenset(
            {
                ROUNDS,
                "console/frame/claims.py",
                "console/streams/collection/collect.py",
                "console/quorum/log/imports.py",
            }
        ),
        "text = own_fault('collecting')",
    ),
    "since when a round fails": Once(
        lambda node: filters("failing_since")(node) and last_name(node.func) == "filter",
        frozenset({ROUNDS}),
        "rows.filter(failing_since=None).update(failing_since=now)",
    ),
    "which round is next": Once(
        calls("longest_waiting"),
        # A cluster is due with the first of its rounds, its partitions also when it was collected.
        frozenset(
            {
                ROUNDS,
                "console/clusters/collection/collect.py",
                "console/availability/collection/collect.py",
            }
        ),
        "longest_waiting(due, 'claimed_until')",
    ),
    "the queue of rounds": Once(
        calls("work_through_due", "enqueue_tickets"),
        frozenset({"console/frame/tasks.py"}),
        "work_through_due(due, take)",
    ),
    "steps and gaps of series": Once(
        is_step_of_a_series,
        frozenset({"console/frame/series.py"}),
        "rows.annotate(bucket=F('at_s') - Mod(F('at_s'), step_s))",
    ),
    "the life of findings": Once(
        is_life_of_findings,
        frozenset({"console/findings/models.py", "console/findings/store.py"}),
        "QuorumFinding.objects.bulk_create(opened)",
    ),
    "a protocol named Door": Once(
        is_protocol_named_door,
        frozenset(),
        "class LagDoor(Protocol):\n def ask(self): ...",
        ("console", "jobs"),
    ),
    "exit codes of commands": Once(
        is_exit_code,
        frozenset({"jobs/commands/command.py"}),
        "OK, FINDING = 0, 1",
        ("jobs",),
    ),
    "threads": Once(
        calls("Thread"),
        frozenset({"console/frame/processes/threads.py"}),
        "threading.Thread(target=run).start()",
    ),
}


@cache
def written() -> dict[str, list[str]]:
    """Where each of `ONCE` is written; every file is read once."""
    found: dict[str, list[str]] = {name: [] for name in ONCE}
    for path in sources("console") + sources("jobs"):
        where = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name, once in ONCE.items():
                is_meant = path.parts[len(ROOT.parts)] in once.folders
                if is_meant and where not in once.places and once.is_it(node):
                    found[name].append(f"{where}:{node.lineno}")
    return found


@pytest.mark.parametrize("name", ONCE)
def test_each_recurring_thing_is_written_in_one_module(name):
    """A room declares what is its own; it does not write rounds, claims, findings or series again."""
    assert written()[name] == []


@pytest.mark.parametrize("once", [pytest.param(one, id=name) for name, one in ONCE.items()])
def test_what_is_written_again_is_found(once):
    assert any(once.is_it(node) for node in ast.walk(ast.parse(once.example)))
