"""`metadata-history`: a folder of segments becomes tables, which the next question finds."""

import shutil
from dataclasses import replace

import pytest

from jobs.quorum.history.changes import PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import BadFolder, read_folder
from jobs.quorum.replay.ahead import small_log
from jobs.quorum.timeline.anomalies import UNFINISHED
from jobs.spark.analyses import job
from jobs.spark.analyses.metadata import metadata_history
from jobs.spark.analyses.metadata.log_history import open_history, read_history
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.contract import JobSpec, Outcome

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for offset, segment in small_log().items():
        (folder / f"{offset:020}.log").write_bytes(segment)
    return folder


@pytest.fixture
def task(spark, tmp_path):
    (tmp_path / "tables").mkdir()
    return AnalysisTask(spark, tmp_path, tmp_path / "tables", tmp_path / "histories")


def kept(task):
    return sorted(task.histories.glob("*/*"))


def test_its_views_hold_every_change_with_its_cause(log, task):
    history = open_history(task, str(log))
    found = task.spark.sql("SELECT offset, cause, cause_broker FROM partition_changes").collect()
    told = [
        one for one in read_changes(read_folder(log).records()) if isinstance(one, PartitionChange)
    ]
    assert history.rows["partition_changes"] == len(told) > 0
    assert {tuple(row) for row in found} == {
        (one.offset, str(one.cause), one.cause_broker) for one in told
    }
    assert history.notes == ()


def test_the_next_question_about_the_same_log_finds_its_tables(log, task):
    first = open_history(task, str(log))
    written = (first.folder / "log.json").stat().st_ino
    assert open_history(task, str(log)) == first
    assert (first.folder / "log.json").stat().st_ino == written


def test_a_log_that_grew_is_read_again(log, task):
    first = open_history(task, str(log))
    last = sorted(log.glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + b"\0" * 7)
    again = open_history(task, str(log))
    assert again.folder != first.folder
    # What is at the end is being written: it is no damage.
    (tail,) = again.notes
    assert tail.startswith(UNFINISHED)
    assert again == replace(first, folder=again.folder, notes=(tail,))


def test_a_beginning_that_is_missing_has_a_note(log, task):
    sorted(log.glob("*.log"))[0].unlink()
    assert open_history(task, str(log)).notes[0] == (
        "The log begins at offset 42: earlier changes are not known, there is no snapshot."
    )


def test_a_log_that_is_cut_off_while_it_is_read_leaves_nothing(log, task):
    folder = read_folder(log)
    last = folder.segments[-1]
    # As the folder was when it was listed: the quorum has cut its end off since.
    listed = replace(folder, segments=(*folder.segments[:-1], last._replace(size_bytes=10**9)))
    with pytest.raises(BadFolder, match="was cut off while it was read"):
        read_history(task, listed)
    assert kept(task) == []


def test_a_folder_that_is_gone_is_said(log, spark, tmp_path):
    shutil.rmtree(log)
    arguments = {"log": str(log)}
    given = {"arguments": arguments, "histories": str(tmp_path), "tables": str(tmp_path / "tables")}
    spec = JobSpec("r", "metadata-history", given)
    result = job.answer(metadata_history.ANALYSIS, spec, tmp_path, spark)
    assert result.outcome is Outcome.FAILED
    assert str(log) in result.error
    assert not list(tmp_path.glob("tables*"))
