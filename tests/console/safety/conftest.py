"""One world for the tests of a file: made once, and as it was for each."""

import copy

import pytest
from django.core.cache import cache

from tests.console.safety.world import World, make_world


@pytest.fixture(autouse=True)
def rail(settings):
    """The numbers in the rail, once per person and test: a third of each page, and a test asks hundreds."""
    cache.clear()
    settings.SIDEBAR_FRESH_S = 600


@pytest.fixture(scope="module")
def made_world(data_of_file) -> World:
    return data_of_file(make_world)


@pytest.fixture
def world(db, made_world) -> World:
    return copy.deepcopy(made_world)
