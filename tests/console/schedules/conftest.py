"""The kind of thing that the tests put on schedules."""

import pytest

from console.schedules import starters
from tests.console.schedules.making import KIND, PaperRoom


@pytest.fixture
def room():
    room = PaperRoom()
    starters.register(room.starter())
    yield room
    starters.forget(KIND)
