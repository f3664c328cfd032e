"""What is read beside the partitions is what the fold of every record tells, and the voters' timeline."""

from hypothesis import given

from jobs.quorum.history.changes import Anomaly, PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import read_folder
from jobs.quorum.replay.sparse import sparse_items
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from tests.examples import examples
from tests.jobs.quorum.metadata_stories import stories


def beside_partitions(items):
    changes = read_changes(items)
    return [one for one in changes if not isinstance(one, PartitionChange | Anomaly)]


def folder_of(log, tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    (folder / f"{0:020}.log").write_bytes(log)
    return read_folder(folder)


@examples(100)
@given(log=stories())
def test_it_tells_what_the_fold_of_every_record_tells(tmp_path_factory, log):
    folder = folder_of(log, tmp_path_factory)
    assert beside_partitions(sparse_items(folder)) == beside_partitions(folder.records())


@examples(100)
@given(log=stories())
def test_the_voters_are_those_of_every_record(tmp_path_factory, log):
    folder = folder_of(log, tmp_path_factory)
    quick, slow = (read_voter_timeline(items) for items in (sparse_items(folder), folder.records()))
    assert quick == slow
