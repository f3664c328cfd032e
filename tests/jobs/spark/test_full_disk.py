"""A run folder whose disk is full: existing files stay whole, and no partial file is left."""

import os
import subprocess

import pytest

from jobs.spark import contract


@pytest.fixture
def small_disk(tmp_path):
    """Make a file system of 64 KiB; only root may."""
    asked = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts file systems")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_progress_that_does_not_fit_leaves_the_last_one_and_no_remains(small_disk, caplog):
    progress = small_disk / contract.PROGRESS
    contract.write_progress(small_disk, {"at_ms": 1})
    contract.write_progress(small_disk, {"rows": "x" * 100_000})
    assert contract.read_json(progress) == {"at_ms": 1}
    assert [path.name for path in small_disk.iterdir()] == [contract.PROGRESS]
    assert "No space left on device" in caplog.text
    contract.write_result(small_disk, contract.JobResult(contract.Outcome.CRASHED, "full"))
    assert contract.read_result(small_disk).error == "full"
