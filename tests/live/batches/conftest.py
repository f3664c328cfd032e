"""What every test of the batch path leaves behind: nothing."""

import pytest

from tests.live.copiers import CopierProcess


@pytest.fixture(autouse=True)
def no_worker_is_left():
    """End the workers of a test that failed before it ended them."""
    yield
    while CopierProcess.started:
        CopierProcess.started.pop().kill()
