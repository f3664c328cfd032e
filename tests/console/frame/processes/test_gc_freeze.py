"""What a long-lived process has loaded is left out of its garbage collections."""

import gc

import pytest

from console.frame.processes.gc_freeze import YOUNG, load_pages_and_freeze_gc


@pytest.fixture
def collector():
    before = gc.get_threshold()
    yield gc
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_is_loaded_is_not_looked_through_again(collector):
    load_pages_and_freeze_gc()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < gc.get_freeze_count()
    assert gc.get_threshold()[0] == YOUNG
