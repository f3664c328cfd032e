"""What all archives share: one writer, and a manifest that is whole or named as damaged."""

import pytest

from jobs.archives import (
    LOCK,
    MANIFEST,
    ArchiveBusy,
    BadArchive,
    load_manifest,
    lock_archive,
    write_manifest,
)


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    folder = tmp_path / "new"
    with lock_archive(folder), pytest.raises(ArchiveBusy, match="another process"):
        lock_archive(folder)
    lock_archive(folder).close()


def test_a_folder_that_cannot_be_written_is_not_called_busy(tmp_path):
    (tmp_path / LOCK).mkdir()
    with pytest.raises(OSError, match=LOCK):
        lock_archive(tmp_path)


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    assert load_manifest(tmp_path, 1, dict) is None
    write_manifest(tmp_path, 1, {"appends": 7})
    assert load_manifest(tmp_path, 1, dict) == {"appends": 7}


def test_a_manifest_of_another_version_says_both(tmp_path):
    write_manifest(tmp_path, 2, {})
    with pytest.raises(BadArchive, match="of version 2; this crosslog reads version 1"):
        load_manifest(tmp_path, 1, dict)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"version": 1', id="cut"),
        pytest.param(b"[]", id="another document"),
        pytest.param(b"{}", id="without a version"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b'{"version": 1}', id="without a value"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path, content):
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(BadArchive, match=r"manifest\.json is damaged"):
        load_manifest(tmp_path, 1, lambda values: values["appends"])
