"""When copying will be done (rules E1 to E5)."""

import pytest

from jobs.spark.flow_driver.eta import Headway, eta_s, flow_eta_s


@pytest.mark.parametrize(
    ("headway", "expected"),
    [
        pytest.param(Headway(0, 0.0), 0.0, id="E1: nothing left"),
        pytest.param(Headway(None, 100.0), None, id="E2: what is left is unknown"),
        pytest.param(Headway(500, 0.0), None, id="E2: nothing was copied lately"),
        pytest.param(Headway(500, 100.0), 5.0, id="E3: up to a fixed end"),
        pytest.param(Headway(500, 100.0, 50.0), 10.0, id="E4: the source goes on growing"),
        pytest.param(Headway(500, 100.0, 100.0), None, id="E4: as fast as the source"),
        pytest.param(Headway(500, 100.0, 300.0), None, id="E4: slower than the source"),
    ],
)
def test_of_a_partition(headway, expected):
    assert eta_s(headway) == expected


@pytest.mark.parametrize(
    ("headways", "expected"),
    [
        pytest.param([], 0.0, id="no partition"),
        pytest.param([Headway(0, 9.0), Headway(0, 0.0)], 0.0, id="all are done"),
        pytest.param(
            [Headway(300, 100.0), Headway(700, 100.0)], 5.0, id="E5: all left over all copied"
        ),
        pytest.param(
            [Headway(300, 0.0), Headway(700, 100.0)], 10.0, id="E5: one has not begun yet"
        ),
        pytest.param(
            [Headway(500, 100.0), Headway(0, 900.0)], 5.0, id="E5: the done ones help nobody"
        ),
        pytest.param([Headway(500, 100.0), Headway(None, 100.0)], None, id="E2: one is unknown"),
    ],
)
def test_of_a_flow(headways, expected):
    assert flow_eta_s(headways) == expected
