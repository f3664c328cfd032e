"""`crosslog KIND` on real Spark, in an application of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jobs.cli import main
from jobs.spark import processes
from tests.live.spark.runs import ENGINE_STARTS_WITHIN_S, KIND, write_small_log
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def log(tmp_path):
    return write_small_log(tmp_path / "__cluster_metadata-0")


def test_the_document_is_printed_and_the_tables_are_kept(log, tmp_path, capsys):
    assert main([KIND, str(log), "--json", "--output", str(tmp_path / "tables")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["facts"]) == (
        KIND,
        {"records": 86, "segments": 2, "snapshots": 0},
    )
    by_type = {row["type"]: row["records"] for row in document["tables"][0]["preview"]}
    assert by_type["PARTITION_CHANGE_RECORD"] == 40
    kept = pq.read_table(tmp_path / "tables" / "segments").to_pylist()
    assert [(row["base_offset"], row["records"]) for row in kept] == [(0, 42), (42, 44)]


def test_ctrl_c_ends_it_with_all_its_processes_and_leaves_no_folder(log, tmp_path):
    command = subprocess.Popen(
        [sys.executable, "-m", "jobs", KIND, str(log)],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    eventually(lambda: len(processes.children_of(command.pid)) > 2, ENGINE_STARTS_WITHIN_S)
    family = processes.children_of(command.pid)
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=120)
    assert (command.returncode, said) == (130, b"crosslog: interrupted\n")
    assert [pid for pid in family if processes.start_ticks(pid) is not None] == []
    assert list(tmp_path.glob("crosslog-run-*")) == []
