"""The table of skipped tests that every run ends with."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
@pytest.mark.parametrize("number", range(3))
def test_sea(number):
    pytest.skip("no ship: hire one")
@pytest.mark.skip("no sky: look up")
def test_sky(): pass
@pytest.mark.xfail
def test_land(): assert False
"""


def test_skipped_tests_are_counted_by_reason_over_all_workers(tmp_path):
    (tmp_path / "test_world.py").write_text(TESTS, encoding="utf-8")
    options = ["-pxdist", "-ptests.skips", "-n2", "-c", "/dev/null", "--rootdir", tmp_path]
    told = subprocess.run(
        [sys.executable, "-m", "pytest", *options, tmp_path],
        cwd=Path(__file__).parents[1], env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    begin = next(at for at, line in enumerate(told) if " skipped tests by reason " in line)
    assert told[begin + 1 : begin + 4] == [
        "       3  no ship: hire one",
        "       1  no sky: look up",
        "       4  skipped in all",
    ]
