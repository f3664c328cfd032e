"""The process that starts tasks of analyses."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def limits():
    """The limits of the daemon once it listens, as /proc tells them."""
    command = [sys.executable, "-m", "jobs.spark.task_daemon", "pyspark.worker"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "CROSSLOG_TASK_MEMORY_MB": "640"},
        cwd=Path(__file__).parents[3],
    ) as daemon:
        # The number of its port, which comes when it is ready.
        assert len(daemon.stdout.read(4)) == 4
        yield Path(f"/proc/{daemon.pid}/limits").read_text(encoding="utf-8")
        daemon.stdin.close()


def soft(limits, name):
    return re.search(rf"^{name}\s+(\S+)", limits, re.MULTILINE)[1]


def test_private_memory_of_tasks_is_bounded(limits):
    assert soft(limits, "Max data size") == str(640 << 20)


def test_files_that_tasks_map_do_not_count(limits):
    assert soft(limits, "Max address space") == "unlimited"
