"""The `crosslog` command itself, before any of its commands runs."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_ctrl_c_while_everything_is_imported_is_no_traceback(tmp_path):
    (tmp_path / "yaml.py").write_text("raise KeyboardInterrupt\n")
    ended = subprocess.run(
        [sys.executable, "-m", "jobs", "state", "somewhere"],
        cwd=ROOT,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "crosslog: interrupted\n")
