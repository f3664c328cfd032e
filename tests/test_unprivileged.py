"""What root may not read for a while, on Linux."""

from contextlib import suppress

from tests.unprivileged import without_roots_access


def test_a_file_that_its_owner_may_not_read_is_closed_to_root_for_that_time_alone(tmp_path):
    closed = tmp_path / "closed"
    closed.write_text("x")
    closed.chmod(0)
    before = can_read(closed)
    with without_roots_access():
        assert not can_read(closed)
    assert can_read(closed) == before


def can_read(path):
    with suppress(PermissionError):
        return path.read_text() == "x"
    return False
