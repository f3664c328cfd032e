"""What `crosslog replicate` says, and with which code it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli import main
from jobs.commands.replication.replicate import (
    duration,
    exit_code,
    result_line,
    size_of,
    summary_line,
)
from jobs.spark import contract
from jobs.spark.contract import JobResult, Outcome

ROOT = Path(__file__).parents[4]


def row(state: str = "copying", records: int = 0, rate: float = 0.0, size: float = 0.0) -> dict:
    return {"state": state, "records": records, "rate_per_s": rate, "bytes_per_s": size}


def progress(*rows: dict, eta_s: float | None = None) -> dict:
    return {"partitions": list(rows), "eta_s": eta_s, "message": "Starting."}


def test_a_line_adds_up_what_the_partitions_do():
    line = summary_line(
        progress(row(records=1500, rate=100, size=2e6), row("caught_up", 500), eta_s=754.2)
    )
    assert line == (
        "2,000 records copied, 100 records/s, 2.0 MB/s, about 12 min 34 s left; "
        "1 copying, 1 caught up"
    )


@pytest.mark.parametrize("eta_s", [None, 0.0])
def test_a_line_says_nothing_about_a_time_that_is_not_known_or_that_is_over(eta_s):
    assert "left" not in summary_line(progress(row(), eta_s=eta_s))


def test_a_line_before_the_first_survey_says_what_happens():
    assert summary_line(progress()).endswith("Starting.")


def test_a_line_of_a_run_that_waits_for_its_engine_says_so():
    waiting = {"message": "Starting the engine", "done": None, "eta_s": None}
    assert summary_line(waiting).endswith("; Starting the engine")


def test_the_last_line_says_what_was_copied_in_which_time():
    summary = {"records": 200_000, "bytes": 21_000_000, "seconds": 12.5}
    result = JobResult(Outcome.SUCCEEDED, None, summary)
    assert result_line(result) == "succeeded: 200,000 records, 21.0 MB in 12.5 s (16,000 records/s)"


@pytest.mark.parametrize(
    ("outcome", "until_caught_up", "expected"),
    [
        (Outcome.SUCCEEDED, True, 0),
        (Outcome.STOPPED, True, 1),
        (Outcome.STOPPED, False, 0),
        (Outcome.FAILED, True, 1),
        (Outcome.FAILED, False, 1),
        (Outcome.CRASHED, False, 1),
    ],
)
def test_zero_means_that_what_was_asked_for_was_done(outcome, until_caught_up, expected):
    assert exit_code(JobResult(outcome), until_caught_up=until_caught_up) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (61, "1 min 1 s"),
        (3_600, "1 h 0 min"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e12, "2.5 TB")]
)
def test_a_size_has_a_unit_of_a_thousand(count, words):
    assert size_of(count) == words


def test_a_flow_that_mirror_maker_copies_is_refused(tmp_path, capsys):
    flow = tmp_path / "flow.yaml"
    flow.write_text(
        "name: f\ncopied_by: mirror_maker\n"
        "source: {alias: east, bootstrap_servers: 'a:1'}\n"
        "target: {alias: west, bootstrap_servers: 'b:1'}\n"
    )
    assert main(["replicate", str(flow)]) == 2
    assert "copied_by: MirrorMaker 2 replicates this flow" in capsys.readouterr().err


FLOW = """name: {name}
source: {{alias: east, bootstrap_servers: '127.0.0.1:1'}}
target: {{alias: west, bootstrap_servers: '127.0.0.1:2'}}
"""


def flow_files(folder: Path, *names: str) -> list[str]:
    paths = [folder / f"{number}.yaml" for number in range(len(names))]
    for path, name in zip(paths, names, strict=True):
        path.write_text(FLOW.format(name=name))
    return [str(path) for path in paths]


def test_every_problem_of_several_files_is_told_with_its_file(tmp_path, capsys):
    good, unnamed, unknown = flow_files(tmp_path, "good", "''", "other\ntopic: [a]")
    assert main(["replicate", good, unnamed, unknown, "--run-dir", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr().err
    assert f"{unnamed}: name: A name is" in told
    assert f"{unknown}: topic: topic is not a setting of a flow. Use topics." in told
    assert not (tmp_path / "runs").exists()


def test_two_files_whose_flows_have_one_name_are_refused(tmp_path, capsys):
    first, second = flow_files(tmp_path, "orders", "orders")
    assert main(["replicate", first, second]) == 2
    told = capsys.readouterr().err
    assert told == f"{second}: name: The flow of {first} has this name, too.\n"


@pytest.fixture
def a_java_that_fails(tmp_path) -> dict[str, str]:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\n[ "$1" = -version ] && echo \'version "17.0.1"\' >&2\n')
    java.chmod(0o700)
    return {**os.environ, "JAVA_HOME": str(tmp_path / "jdk")}


def test_each_of_several_flows_has_its_lines_and_the_worst_end_counts(tmp_path, a_java_that_fails):
    runs = tmp_path / "runs"
    words = ["replicate", *flow_files(tmp_path, "orders", "payments"), "--run-dir", str(runs)]
    ended = subprocess.run(
        [sys.executable, "-m", "jobs", *words, "--json"],
        cwd=ROOT, env=a_java_that_fails, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    last = {row["flow"]: row["outcome"] for row in rows if "outcome" in row}
    assert (ended.returncode, last) == (1, {"orders": "CRASHED", "payments": "CRASHED"})
    assert contract.read_spec(runs / "run-orders").arguments["flow"]["name"] == "orders"
