"""What advice and its findings make of a partition in a reassignment."""

import pytest

from console.availability.advice.evaluation import is_quiet
from console.availability.advice.findings import trouble_of
from tests.jobs.availability.clusters import partition


@pytest.mark.parametrize(
    ("isr", "adding", "is_well", "trouble"),
    [
        pytest.param((1, 2), (3,), True, "", id="what is added is not missing"),
        pytest.param((1, 2), (), False, "at_min_isr", id="else it is"),
        pytest.param((1, 2), None, False, "", id="not known is no trouble"),
        pytest.param((1,), None, False, "under_min_isr", id="under min ISR is known all the same"),
        pytest.param((1,), (3,), False, "under_min_isr", id="an old one is lost before"),
    ],
)
def test_a_partition_in_a_reassignment(isr, adding, is_well, trouble):
    one = partition(1, 2, 3, isr=isr, adding=adding, min_insync_replicas=2)
    assert (is_quiet(one), trouble_of(one)) == (is_well, trouble)
