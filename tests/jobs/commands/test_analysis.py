"""`crosslog KIND` before Spark begins: what is wrong with the arguments, each by its name."""

import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli import main
from jobs.quorum.replay.ahead import small_log

ROOT = Path(__file__).parents[3]


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    for offset, segment in small_log().items():
        (folder / f"{offset:020}.log").write_bytes(segment)
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([], "--log: It is required.", id="nothing given"),
        pytest.param(["nowhere"], "--log: nowhere: it cannot be listed", id="no such folder"),
        pytest.param(["--log", "/proc/self"], "--log: /proc/self: there is neither", id="no log"),
    ],
)
def test_bad_input_is_named_by_its_argument(arguments, said, capsys):
    assert main(["metadata-records", *arguments]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_what_is_in_the_output_folder_is_not_written_over(log, tmp_path, capsys):
    assert main(["metadata-records", str(log), "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"--output: {tmp_path} is there already: name a new folder.\n"


def test_without_java_it_is_said(log, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["metadata-records", str(log)]) == 2
    assert "JDK" in capsys.readouterr().err


def test_neither_the_command_nor_the_door_of_the_engine_loads_spark_arrow_or_numba():
    code = (
        "import sys, jobs.commands.analysis, jobs.spark.engine.door;"
        "sys.exit(any(name in sys.modules for name in ('pyspark', 'pyarrow', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
