"""The table of skipped tests that every run ends with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
@pytest.mark.parametrize("number", range(3))
def test_sea(number):
    pytest.skip("no ship: hire one")
@pytest.mark.skipif(True, reason="no sky: look up")
def test_sky():
    pass
@pytest.mark.xfail
def test_expected():
    assert False
def test_land():
    pass
"""


def run(tmp_path, *options):
    (tmp_path / "test_world.py").write_text(TESTS, encoding="utf-8")
    plugins = [f"-p{name}" for name in ("xdist", "tests.skips", "no:cacheprovider")]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, "-c", "/dev/null", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout.splitlines()


@pytest.mark.parametrize("workers", ["0", "2"], ids=["one process", "two workers"])
def test_skipped_tests_are_counted_by_reason(tmp_path, workers):
    told = run(tmp_path, "-n", workers)
    (begin,) = (at for at, line in enumerate(told) if " skipped tests by reason " in line)
    assert told[begin + 1 : begin + 4] == [
        "       3  no ship: hire one",
        "       1  no sky: look up",
        "       4  skipped in all",
    ]


def test_a_run_without_skipped_tests_has_no_table(tmp_path):
    assert "reason" not in "\n".join(run(tmp_path, "-k", "land"))
