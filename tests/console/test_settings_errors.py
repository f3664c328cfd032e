"""Settings that cannot be used stop every command with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

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
