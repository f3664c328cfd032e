"""`crosslog state` at moments that a log does not have."""

import pytest

from jobs.cli import main
from tests.jobs.wire.metadata_values import NO_OP, data_batch


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(data_batch(0, [NO_OP, NO_OP]) + data_batch(2, [NO_OP]))
    return str(folder)


@pytest.mark.parametrize("given", [["--time"], ["--offset", "1", "--diff-to"]], ids=" ".join)
def test_a_time_in_the_future_is_refused(tmp_path, capsys, given):
    assert main(["state", str(tmp_path), *given, "2199-01-01T00:00:00Z"]) == 2
    assert "2199-01-01" in (told := capsys.readouterr().err)
    assert "is in the future" in told


@pytest.mark.parametrize(
    "moment", [["--offset", "3"], ["--offset", "999999999"], ["--diff-to", "3"]]
)
def test_an_offset_behind_the_log_is_bad_input(log, moment, capsys):
    assert main(["state", log, *moment]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "the log ends at offset 2." in told.err


def test_the_last_offset_of_the_log_is_told(log):
    assert main(["state", log, "--offset", "2"]) == 0
