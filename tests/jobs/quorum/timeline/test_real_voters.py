"""The voters of a real log folder of Kafka 4.3.1: single node, log start moved on, three snapshots."""

import pytest

from jobs.quorum.log.folder import read_folder
from jobs.quorum.timeline.parts import EntrySource
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.quorum.voters.voter_sets import Endpoint
from tests.support import METADATA_FOLDER


@pytest.fixture(scope="module")
def timeline():
    return read_voter_timeline(read_folder(METADATA_FOLDER).records())


def test_the_voters_stand_where_the_first_snapshot_ends(timeline):
    (entry,) = timeline.entries
    (voter,) = entry.voters
    assert (entry.offset, entry.source, entry.is_committed) == (764, EntrySource.SNAPSHOT, True)
    assert (voter.id, voter.directory_id) == (1, "DFV_jw2OTNSJdDCXmgr-2A")
    assert voter.endpoints == (Endpoint("CONTROLLER", "127.0.0.1", 43593),)
    assert (voter.min_kraft_version, voter.max_kraft_version) == (0, 1)


def test_a_healthy_log_has_no_anomaly_and_no_gap(timeline):
    assert (timeline.anomalies, timeline.unknown, timeline.overwritten) == ((), (), ())
    assert (timeline.kraft_version, timeline.snapshot_end) == (1, 765)
    assert [span.epoch for span in timeline.epochs] == [1]
    assert timeline.voters_at(1000) == timeline.current.voters
