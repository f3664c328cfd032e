"""The ladder of partition states."""

import pytest

from jobs.availability.severity import Severity, partition_severity


@pytest.mark.parametrize(
    ("leader", "replicas", "isr", "min_isr", "expected"),
    [
        pytest.param(1, 3, 3, 2, "ok", id="all in sync"),
        pytest.param(1, 3, 2, 1, "under_replicated", id="one lost, one to spare"),
        pytest.param(1, 3, 2, 2, "at_min_isr", id="one lost, none to spare"),
        pytest.param(1, 3, 1, 2, "under_min_isr", id="two lost"),
        pytest.param(None, 3, 1, 2, "offline", id="no leader"),
        pytest.param(None, 3, 3, 1, "offline", id="no leader although all are in sync"),
        pytest.param(1, 1, 1, 1, "ok", id="a single replica that is there"),
        pytest.param(1, 2, 2, 2, "ok", id="complete without one to spare"),
        pytest.param(1, 1, 1, 2, "ok", id="min ISR above the replicas asks for all of them"),
        pytest.param(1, 3, 2, None, "under_replicated", id="min ISR unknown, one lost"),
        pytest.param(1, 3, 1, None, "under_replicated", id="min ISR unknown, two lost"),
        pytest.param(1, 3, 3, None, "ok", id="min ISR unknown, all in sync"),
    ],
)
def test_severity(leader, replicas, isr, min_isr, expected):
    severity = partition_severity(
        leader=leader, replicas=replicas, isr=isr, min_insync_replicas=min_isr
    )
    assert severity.word == expected


def test_the_ladder_is_ordered_from_well_to_worst():
    words = [severity.word for severity in sorted(Severity)]
    assert words == ["ok", "under_replicated", "at_min_isr", "under_min_isr", "offline"]
