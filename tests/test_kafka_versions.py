"""The document about Kafka versions says what the live tests recorded."""

import ast
from pathlib import Path

import pytest

from tools.kafka_versions import PAGE, read_rows, table, with_table

ROOT = Path(__file__).parents[1]


def row(
    capability="groups", version="3.9.1", mode="kraft", note="", role="cluster", outcome="passed"
):
    return {
        "capability": capability, "version": version, "mode": mode,
        "note": note, "role": role, "outcome": outcome,
    }  # fmt: skip


def test_the_table_is_what_was_recorded():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, read_rows()) == page


def test_every_recorded_test_passed_and_is_in_the_tree():
    functions: dict[str, set[str]] = {}
    for one in read_rows():
        assert one["outcome"] == "passed", one
        path, _, name = one["test"].partition("::")
        if path not in functions:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            functions[path] = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert name.partition("[")[0] in functions[path]


def test_versions_are_in_their_order_and_what_was_not_run_is_a_dash():
    rows = [
        row("lag", "4.0.2"),
        row("lag", "3.9.1"),
        row("lag", "3.9.1"),
        row("groups", "2.8.2", "zookeeper"),
    ]
    assert table(rows).splitlines() == [
        "| capability | 2.8.2 ZooKeeper | 3.9.1 | 4.0.2 |",
        "| --- | --- | --- | --- |",
        "| groups | 1 passed | - | - |",
        "| lag | - | 2 passed | 1 passed |",
    ]


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_cell_says_what_did_not_pass(outcome):
    assert f"| 1 passed, 1 {outcome} |" in table([row(), row(outcome=outcome)])
