"""Levels of a series: a step is found where it is, and noise is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.spark.analyses.records.profile.change_points import steps

NOISES = {
    "poisson": lambda random, count: random.poisson(1_000, count),
    "lognormal": lambda random, count: np.exp(random.normal(6, 0.3, count)),
    "few": lambda random, count: random.poisson(4, count),
}


@given(value=st.floats(0, 1e12), count=st.integers(0, 300))
@settings(deadline=None)
def test_a_constant_series_has_no_change(value, count):
    assert steps([value] * count) == []


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("count", [24, 168, 400])
def test_noise_without_a_step_has_a_change_in_at_most_two_of_a_hundred_series(noise, count):
    series = [NOISES[noise](np.random.default_rng(seed), count) for seed in range(100)]
    assert sum(bool(steps(one)) for one in series) <= 2


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(12, 400),
    share=st.floats(0, 1),
    factor=st.sampled_from([0.1, 0.5, 2.0, 10.0]),
)
@settings(deadline=None)
def test_a_step_is_found_within_one_value_and_with_its_size(seed, count, share, factor):
    at = 3 + round(share * (count - 6))
    values = np.random.default_rng(seed).poisson(5_000, count) * np.ones(count)
    values[at:] *= factor
    found = max(steps(values), key=lambda step: abs(step.size))
    assert abs(found.at - at) <= 1
    assert found.after / found.before == pytest.approx(factor, rel=0.1)


def test_both_ends_of_a_burst_are_found():
    values = [10.0] * 20 + [50.0] * 5 + [10.0] * 20
    assert [(one.at, one.before, one.after) for one in steps(values)] == [
        (20, 10, 50),
        (25, 50, 10),
    ]


def test_an_end_of_all_records_is_found():
    (found,) = steps([100.0] * 10 + [0.0] * 10)
    assert (found.at, found.before, found.after) == (10, 100, 0)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([10.0] * 10 + [1_000.0] + [10.0] * 10, id="one outlier"),
        pytest.param([10.0] * 4 + [1_000.0] * 4, id="too short"),
        pytest.param([100.0] * 10 + [115.0] * 10, id="a small factor"),
    ],
)
def test_what_is_no_change(values):
    assert steps(values) == []
