"""The `crosslog` command itself, before any of its commands runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.wire.values import uuid_text
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.log_records import Log, topic

ROOT = Path(__file__).resolve().parents[2]


def test_ctrl_c_while_everything_is_imported_is_no_traceback(tmp_path):
    (tmp_path / "numpy.py").write_text("raise KeyboardInterrupt\n")
    ended = subprocess.run(
        [sys.executable, "-m", "jobs", "state", "somewhere"],
        cwd=ROOT,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "crosslog: interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["state", "LOG"], id="state"),
        pytest.param(["state", "LOG", "--json"], id="state as JSON"),
        pytest.param(["history", "LOG", "--kind", "all"], id="history"),
        pytest.param(["dump-log", "LOG/00000000000000000000.log"], id="dump-log"),
        pytest.param(["what-if", "--help"], id="help"),
    ],
)
def test_a_command_whose_output_is_closed_early_ends_silently(words, tmp_path):
    """tests/conformance/reported/pipe_closed_early"""
    log = Log()
    for number in range(1, 60):
        log.batch(topic(f"a-topic-with-a-long-name-{number:04}", uuid_text(number.to_bytes(16))))
    folder = write_folder(tmp_path, log.records)
    reads, writes = os.pipe()
    os.close(reads)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "jobs", *(word.replace("LOG", str(folder)) for word in words)],
            cwd=ROOT,
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writes)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("redirected", "code", "told"),
    [(">&-", 0, ""), ("> /dev/full", 1, "cannot be written: No space left on device")],
    ids=["no output at all", "a full disk"],
)
def test_an_output_that_takes_nothing_is_no_traceback(redirected, code, told):
    ended = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m jobs --help {redirected}', sys.executable],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (ended.returncode, told in ended.stderr) == (code, True)
    assert "Traceback" not in ended.stderr
