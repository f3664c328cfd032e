"""What a test without root's rights may do, on Linux as root and as another user."""

import pytest

from tests.unprivileged import without_roots_access


@pytest.fixture
def closed(tmp_path):
    path = tmp_path / "closed"
    path.write_text("x")
    path.chmod(0)
    return path


def test_a_file_that_its_owner_may_not_read_cannot_be_read(closed):
    with without_roots_access():
        assert not can_read(closed)


def test_root_reads_every_file_again_afterwards(closed):
    before = can_read(closed)
    with pytest.raises(KeyError), without_roots_access():
        raise KeyError
    assert can_read(closed) == before


def can_read(path):
    try:
        return path.read_text() == "x"
    except PermissionError:
        return False
