"""What the palette says about schedules."""

import pytest

from console.schedules import navigation
from tests.console.schedules.making import make_schedule

pytestmark = pytest.mark.django_db


def test_the_palette_finds_a_schedule_by_its_name(viewer, operator):
    schedule = make_schedule(operator)
    (hit,) = list(navigation.find_hits(viewer, ["ada"], 8))
    assert hit.path == f"/schedules/{schedule.pk}/"
    viewer.role = "none"
    assert list(navigation.find_hits(viewer, ["ada"], 8)) == []
