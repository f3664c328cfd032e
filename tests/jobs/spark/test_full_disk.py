"""A run folder whose disk is full: existing files stay whole, and no partial file is left."""

import pytest

from jobs.spark import contract
from tests.small_disks import small_disk


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path):
        yield tmp_path


def test_progress_that_does_not_fit_leaves_the_last_one_and_no_remains(disk, caplog):
    progress = disk / contract.PROGRESS
    contract.write_progress(disk, {"at_ms": 1})
    contract.write_progress(disk, {"rows": "x" * 100_000})
    assert contract.read_json(progress) == {"at_ms": 1}
    assert [path.name for path in disk.iterdir()] == [contract.PROGRESS]
    assert "No space left on device" in caplog.text
    contract.write_result(disk, contract.JobResult(contract.Outcome.CRASHED, "full"))
    assert contract.read_result(disk).error == "full"
