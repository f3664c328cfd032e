"""Replicas of the log, compared by the checksums of their batches."""

import pytest

from jobs.quorum.health.compare import find_different_replicas
from jobs.quorum.log.folder import read_folder
from tests.jobs.quorum.log.replica_digest import digest_folder
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.voter_sets import Log, plus, voters

THREE = voters(1, 2, 3)


def started() -> Log:
    return Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(THREE).together(3).noop(5)


@pytest.fixture
def digest(tmp_path):
    def digest(log, name, **options):
        return digest_folder(read_folder(write_folder(tmp_path / name, log)), name, **options)

    return digest


def test_a_digest_has_epoch_and_checksum_of_each_batch(digest):
    made = digest(started(), "one")
    assert list(made.checksums) == [0, 3, 4, 5, 6, 7]
    assert {epoch for epoch, _ in made.checksums.values()} == {1}


def test_a_digest_can_begin_later_and_is_bounded(digest):
    assert list(digest(started(), "one", from_offset=4, most=2).checksums) == [4, 5]


def test_a_replica_that_lags_does_not_differ(digest):
    replicas = [digest(started(), "one"), digest(started().noop(9), "two")]
    assert list(find_different_replicas(replicas, 99)) == []


def test_replicas_with_other_records_at_an_offset_differ(digest):
    replicas = [
        digest(started().voters(THREE), "one"),
        digest(started().voters(plus(THREE, 4)), "two"),
    ]
    (finding,) = find_different_replicas(replicas, 99)
    assert finding.evidence["offset"] == 8
    assert list(find_different_replicas(replicas, 8)) == []
