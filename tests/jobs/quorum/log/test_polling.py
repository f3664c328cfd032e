"""Polls are kept when something changed, and not again after a restart."""

import json
from dataclasses import replace

import pytest

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.quorum.log.polling import NAME, QuorumPolls

ONE = QuorumReplica(1, "d1", 10, None, 5)
QUORUM = QuorumDescription(1, 3, 10, (ONE,), (), (), 1_000)


def lines(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


@pytest.mark.parametrize(
    ("change", "brokers", "is_kept"),
    [
        pytest.param({}, (7,), False, id="nothing"),
        pytest.param({"high_watermark": 11, "described_at_ms": 2_000}, (7,), False, id="progress"),
        pytest.param({"voters": (replace(ONE, log_end_offset=99),)}, (7,), False, id="a voter's"),
        pytest.param({"leader_epoch": 4}, (7,), True, id="an election"),
        pytest.param({"leader_id": None}, (7,), True, id="no leader"),
        pytest.param({"voters": (replace(ONE, directory_id="d2"),)}, (7,), True, id="a disk"),
        pytest.param({"observers": (ONE,)}, (7,), True, id="an observer"),
        pytest.param({}, (7, 8), True, id="a broker"),
    ],
)
def test_a_change_is_kept_and_progress_is_not(change, brokers, is_kept, tmp_path):
    assert QuorumPolls(tmp_path).keep(QUORUM, (7,))
    # After a restart it is known what was kept last.
    assert QuorumPolls(tmp_path).keep(replace(QUORUM, **change), brokers) == is_kept
    assert len(lines(tmp_path)) == 1 + is_kept


@pytest.mark.parametrize("content", ["", "half a li", '{"other": 1}\n', "\x00"])
def test_a_file_that_a_crash_left_is_gone_on_with(content, tmp_path):
    (tmp_path / NAME).write_text(content)
    assert QuorumPolls(tmp_path).keep(QUORUM, (7,))
