"""Where the level of a series changes: PELT with the cost of a changed mean, on log(1 + x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

# Values of a level at least; a series that is shorter than three levels is not judged.
LEAST = 3
_LEAST_SERIES = 3 * LEAST
# Changes by a smaller factor are not reported.
LEAST_FACTOR = 1.25
_LEAST_NOISE = 0.02
# For each change, in squares of the noise: so much for the logarithm of the length. Noise is less certain in
# a short series.
_PENALTY, _SHORT = 5.0, 20
# A value so many deviations from its neighbours (a median of five) is an outlier: it counts as so far.
_OUTLIER = 2.5
_MAD_TO_DEVIATION = 1.4826 / math.sqrt(2)


class Step(NamedTuple):
    """A change: index of the first value of the new level, the medians of both, and log of the factor."""

    at: int
    before: float
    after: float
    size: float


def steps(values: Sequence[float]) -> list[Step]:
    """Return the changes of a series, in its order; values are at least 0, evenly spaced."""
    given = np.asarray(values, np.float64)
    if len(given) < _LEAST_SERIES:
        return []
    logs = np.log1p(given)
    differences = np.diff(logs)
    deviation = np.median(np.abs(differences - np.median(differences))) * _MAD_TO_DEVIATION
    noise = max(float(deviation), _LEAST_NOISE)
    count = len(logs)
    near = np.median(sliding_window_view(np.pad(logs, 2, mode="edge"), 5), axis=1)
    calm = np.clip(logs, near - _OUTLIER * noise, near + _OUTLIER * noise)
    places = _changes(calm, _PENALTY * math.log(count) * (1 + _SHORT / count) * noise**2)
    while places:
        sizes = _sizes(logs, places)
        least = int(np.argmin(np.abs(sizes)))
        if abs(sizes[least]) >= math.log(LEAST_FACTOR):
            break
        del places[least]
    medians = [float(np.median(part)) for part in np.split(given, places)]
    sizes = _sizes(logs, places)
    return [Step(at, medians[n], medians[n + 1], float(sizes[n])) for n, at in enumerate(places)]


def _sizes(logs: npt.NDArray[np.float64], places: list[int]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.diff([np.median(one) for one in np.split(logs, places)])
    return found


def _changes(logs: npt.NDArray[np.float64], penalty: float) -> list[int]:
    """Return where levels begin, so that squares of deviations and penalties are the least (PELT)."""
    count = len(logs)
    sums = np.concatenate([[0.0], np.cumsum(logs - logs.mean())])
    squares = np.concatenate([[0.0], np.cumsum((logs - logs.mean()) ** 2)])
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    came_from = np.zeros(count + 1, np.int64)
    starts = np.zeros(1, np.int64)
    for end in range(LEAST, count + 1):
        cost = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        total = best[starts] + cost
        least = int(np.argmin(total))
        best[end], came_from[end] = total[least] + penalty, starts[least]
        starts = np.append(starts[total <= best[end]], end + 1 - LEAST)
    places, at = [], int(came_from[count])
    while at > 0:
        places.append(at)
        at = int(came_from[at])
    return places[::-1]
