"""`crosslog state` at moments that a log does not have."""

import json

import pytest

from jobs.cli import main
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log
from tests.jobs.quorum.voters.test_control_scan import static
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


def state_of(path, capsys, *moment):
    assert main(["state", str(path), "--json", *moment]) in {0, 1}
    return json.loads(capsys.readouterr().out)


def test_voters_of_a_static_quorum_are_told_behind_a_snapshot(tmp_path, capsys):
    path = static(tmp_path)
    told = state_of(path, capsys)
    assert [one["id"] for one in told["voters"]] == [1, 2, 3]
    assert (told["kraftVersion"], told["votersStatic"], told["votersUnknown"]) == (0, True, None)
    assert [one["id"] for one in state_of(path, capsys, "--offset", "520")["voters"]] == [1, 2, 3]


def test_voters_that_are_not_known_are_said_to_be_in_words(log, tmp_path, capsys):
    told = state_of(log, capsys)
    assert (told["voters"], told["votersOffset"]) == ([], None)
    assert "neither an election nor a voters record" in told["votersUnknown"]
    assert main(["state", log]) == 0
    assert "not known: neither an election nor a voters record" in capsys.readouterr().out


def test_voters_before_missing_records_are_not_known_behind_them(tmp_path, capsys):
    records = Log(epoch=0).leader(1, [1, 2, 3]).noop(5).missing(9).noop(5)
    told = state_of(write_folder(tmp_path, records), capsys)
    assert told["voters"] == []
    assert "records behind offset 0" in told["votersUnknown"]


def test_a_folder_with_an_empty_segment_has_no_record(tmp_path, capsys):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"")
    assert main(["state", str(folder)]) == 2
    assert "no record of the log is in it" in capsys.readouterr().err
