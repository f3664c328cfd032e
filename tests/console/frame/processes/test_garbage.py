"""What a long-lived process has loaded is left out of its garbage collections."""

import gc

import pytest

from console.frame.processes.garbage import YOUNG, settle_pages


@pytest.fixture
def collector():
    before = gc.get_threshold()
    yield gc
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_is_loaded_is_not_looked_through_again(collector):
    settle_pages()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < gc.get_freeze_count()
    assert gc.get_threshold()[0] == YOUNG
