"""Settings that cannot be used stop every command with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def test_a_malformed_setting_is_a_sentence_and_exit_code_2():
    environment = {**os.environ, "DEBUG": "perhaps", "DJANGO_SETTINGS_MODULE": "console.settings"}
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "crosslog: DEBUG=perhaps is neither true nor false.\n"


@pytest.mark.slow
def test_a_database_that_is_a_link_to_itself_is_a_sentence(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    environment = {
        **os.environ,
        "CROSSLOG_HOME": str(tmp_path / "home"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'circle'}",
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    ended = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert f"{tmp_path / 'circle'} cannot be opened (Too many levels" in ended.stderr
    assert "Traceback" not in ended.stderr
