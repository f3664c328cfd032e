"""What `crosslog voters` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log, key_of, minus, plus, renewed, voters
from tests.support import KRAFT_LOG, METADATA_FOLDER

THREE = voters(1, 2, 3)


def started() -> Log:
    log = Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE)
    return log.together(3).noop(30)


@pytest.fixture
def asked(tmp_path, capsys):
    """Run the command over a folder with this log; return code, output and errors."""

    def asked(log, *options):
        folder = write_folder(tmp_path, log)
        return main(["voters", str(folder), *options]), *capsys.readouterr()

    return asked


def test_each_set_is_told_with_its_place_its_time_and_what_changed(asked):
    swapped = renewed(THREE, 2)
    code, told, _ = asked(started().voters(minus(THREE, 2)).noop().voters(swapped), "--json")
    document = json.loads(told)
    first, without, back = document["voterSets"]
    assert code == 0
    assert (first["offset"], first["epoch"], first["time"]) == (2, 1, "2027-01-15T08:00:00.000Z")
    assert first["voters"][0] == {
        "id": 1,
        "directoryId": key_of(THREE, 1).directory_id,
        "endpoints": [{"name": "LISTENER", "host": "localhost", "port": 9991}],
        "minKraftVersion": 0,
        "maxKraftVersion": 1,
    }
    assert [one["id"] for one in without["change"]["removed"]] == [2]
    assert back["change"]["replacedDisk"] == [
        {
            "id": 2,
            "oldDirectoryId": key_of(THREE, 2).directory_id,
            "newDirectoryId": key_of(swapped, 2).directory_id,
            "removedAt": without["offset"],
        }
    ]
    assert document["current"] == back
    assert (document["kraftVersion"], document["anomalies"], document["unknown"]) == (1, [], [])
    assert [one["leaderId"] for one in document["elections"]] == [1]


def test_a_change_that_does_not_overlap_ends_with_1(asked):
    code, told, _ = asked(started().voters(plus(THREE, 4, 5)))
    assert code == 1
    assert "non_overlapping_change" in told
    assert f"added {key_of(THREE, 1)}" not in told


@pytest.mark.parametrize(
    ("options", "committed"),
    [((), None), (("--high-watermark", "33"), False), (("--high-watermark", "34"), True)],
)
def test_what_is_committed_is_known_by_the_high_watermark(asked, options, committed):
    _, told, _ = asked(started().voters(plus(THREE, 4)), "--json", *options)
    assert json.loads(told)["current"]["committed"] is committed


def test_a_person_reads_sets_and_elections(asked):
    log = started().leader(2, [1, 2, 3], [2, 3], after_ms=3_000).noop().voters(plus(THREE, 4))
    code, told, _ = asked(log, "--elections")
    assert code == 0
    assert "2 elected by [2, 3], 3000 ms after the record before it" in told
    assert "not known whether committed" in told
    assert "LISTENER://localhost:9994" in told


def test_a_static_quorum_is_labelled(asked):
    _, told, _ = asked(Log(epoch=0).leader(1, [1, 2, 3]).noop(3))
    assert "static, ids only" in told
    assert "kraft.version 0" in told


def test_a_log_without_voters_says_so(asked):
    _, told, _ = asked(Log(0, epoch=1).noop(3))
    assert "The log names no voters" in told


@pytest.mark.parametrize("name", ["no-such-folder", "."])
def test_what_is_no_log_folder_ends_with_2(tmp_path, capsys, name):
    assert main(["voters", str(tmp_path / name)]) == 2
    told, errors = capsys.readouterr()
    assert (told, bool(errors)) == ("", True)


@pytest.mark.parametrize("path", [KRAFT_LOG, METADATA_FOLDER], ids=["log dir", "folder"])
def test_a_real_folder_is_read_from_either_path(capsys, path):
    assert main(["voters", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (entry,) = document["voterSets"]
    assert (entry["offset"], entry["source"], entry["committed"]) == (764, "snapshot", True)
    assert entry["voters"][0]["directoryId"] == "DFV_jw2OTNSJdDCXmgr-2A"
    assert (document["clusterId"], document["snapshotEnd"]) == ("EYGMbBHDSb6oYKhfQ3x89Q", 1092)
