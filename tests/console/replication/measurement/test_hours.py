"""Lag rolled up to hours, counted once more in plain Python from the samples."""

import random
from datetime import timedelta
from statistics import fmean

import pytest

from console.replication.flows.models import LagSample
from console.replication.measurement.models import LagHour
from console.replication.measurement.queries import MOST
from console.replication.measurement.series import MOST_HOURS, prune, roll_up, samples_needed_from
from tests.console.making import NOW, make_flow

pytestmark = pytest.mark.django_db
NOW = NOW.replace(hour=3, minute=12)
HERE_S = int(NOW.replace(minute=0).timestamp())
NUMBERS = ("samples", "first_s", "last_s", "lag", "lag_at_s", "lag_ms", "lag_ms_at_s")


def made(flow, seconds, topic="", **numbers):
    """Write samples so many seconds after the begin of this hour."""
    LagSample.objects.bulk_create(
        LagSample(flow=flow, topic=topic, at_s=HERE_S + second, **numbers) for second in seconds
    )


def told():
    return list(LagHour.objects.order_by("flow", "topic", "at_s").values())


def highest(rows, name):
    known = [(getattr(row, name), -row.at_s) for row in rows if getattr(row, name) is not None]
    value, before = max(known, default=(None, None))
    return value, None if before is None else -before


def counted(samples):
    """Count the hours of one flow and topic."""
    groups = {}
    for row in samples:
        groups.setdefault(row.at_s // 3600 * 3600, []).append(row)
    found = []
    for at_s, rows in sorted(groups.items()):
        moments = [row.at_s for row in rows]
        spans = (len(rows), min(moments), max(moments))
        found.append((at_s, *spans, *highest(rows, "lag"), *highest(rows, "lag_ms")))
    return found


def test_an_hour_has_the_highest_lag_with_its_first_moment_and_the_mean_rate():
    chance = random.Random(1)
    for flow in (make_flow("a"), make_flow("b")):
        for topic in ("", "orders"):
            LagSample.objects.bulk_create(
                LagSample(
                    flow=flow,
                    topic=topic,
                    at_s=HERE_S - chance.randrange(1, 3 * 3600),
                    lag=chance.choice([None, *range(6)]),
                    lag_ms=chance.choice([None, 0, 10**12]),
                    rate_per_s=chance.choice([None, 1.5, 7.0]),
                )
                for _ in range(300)
            )
    assert roll_up(NOW) == 12
    for flow in ("a", "b"):
        for topic in ("", "orders"):
            where = {"flow__name": flow, "topic": topic}
            samples = list(LagSample.objects.filter(**where).order_by("at_s"))
            rows = LagHour.objects.filter(**where).order_by("at_s")
            assert list(rows.values_list("at_s", *NUMBERS)) == counted(samples)
            for row in rows:
                known = [
                    s.rate_per_s
                    for s in samples
                    if s.at_s // 3600 * 3600 == row.at_s and s.rate_per_s is not None
                ]
                assert row.rate_per_s == pytest.approx(fmean(known))


def test_an_hour_without_a_known_number_has_none():
    made(make_flow(), [-60])
    roll_up(NOW)
    (row,) = told()
    assert (row["lag"], row["lag_at_s"], row["rate_per_s"]) == (None, None, None)


def test_a_lag_beyond_all_measure_counts_as_the_most():
    made(make_flow(), [-60], lag_ms=2**63 - 1)
    roll_up(NOW)
    assert (told()[0]["lag_ms"], told()[0]["lag_ms_at_s"]) == (MOST, HERE_S - 60)


def test_run_twice_writes_the_same_rows():
    made(make_flow(), range(-7200, 0, 60), lag=3, rate_per_s=1.0)
    roll_up(NOW)
    before = told()
    assert roll_up(NOW) == 0
    LagHour.objects.filter(at_s=HERE_S - 3600).delete()
    assert roll_up(NOW) == 1
    assert [{**row, "id": 0} for row in told()] == [{**row, "id": 0} for row in before]


@pytest.mark.parametrize(("minute", "rows"), [(2, 1), (3, 2)])
def test_an_hour_is_left_until_it_is_over_and_late_samples_are_there(minute, rows):
    made(make_flow(), [-3700, -60, 30])
    roll_up(NOW.replace(minute=minute))
    assert len(told()) == rows


def test_hours_without_samples_are_passed_over():
    made(make_flow(), [-50 * 3600, -60])
    assert roll_up(NOW) == 2


def test_many_hours_are_rolled_up_in_turns():
    made(make_flow(), range(-30 * 3600, 0, 3600))
    assert (roll_up(NOW), roll_up(NOW), roll_up(NOW)) == (MOST_HOURS, 30 - MOST_HOURS, 0)


def test_the_first_time_an_hour_that_may_be_pruned_in_part_is_left_out(settings):
    settings.LAG_RETENTION_H = 2
    made(make_flow(), [-2 * 3600 - 60, -3600, -60])
    roll_up(NOW)
    assert [row["at_s"] for row in told()] == [HERE_S - 3600]


def test_samples_whose_hour_was_not_rolled_up_are_kept_whatever_their_age(settings):
    made(make_flow(), range(-30 * 3600, 0, 3600))
    settings.LAG_RETENTION_H = 1
    LagHour.objects.create(
        flow=make_flow("b"), at_s=HERE_S - 20 * 3600, samples=1, first_s=0, last_s=0
    )
    assert prune(NOW) == 11
    roll_up(NOW)
    assert prune(NOW) == 18
    assert LagSample.objects.get().at_s == HERE_S - 3600
    assert samples_needed_from(NOW) == HERE_S - 3600


def test_old_hours_are_pruned(settings):
    settings.LAG_HOURS_D = 30
    made(make_flow(), [-60])
    roll_up(NOW)
    settings.LAG_RETENTION_H = 24 * 60
    assert prune(NOW + timedelta(days=30, hours=-2)) == 0
    assert prune(NOW + timedelta(days=30)) == 1
