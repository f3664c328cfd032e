"""An uploaded archive is never trusted: only a metadata log comes out, and never more than allowed."""

import gzip
import io
import stat
import struct
import tarfile
import time
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.log.uploads import UploadLimits, UploadRefused, unpack_upload

FOLDER = "node-1/__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"
SNAPSHOT = "00000000000000000100-0000000004.checkpoint"
NODE = {
    f"{FOLDER}/{SEGMENT}": b"segment",
    f"{FOLDER}/{SNAPSHOT}": b"snapshot",
    f"{FOLDER}/00000000000000000000.index": b"index",
    f"{FOLDER}/quorum-state": b"{}",
    "node-1/orders-0/00000000000000000000.log": b"records of somebody",
    "node-1/meta.properties": b"cluster.id=abc",
    "node-1/bootstrap.checkpoint": b"bootstrap",
    "node-1/server.properties": b"password=secret",
}
SMALL = UploadLimits(total_bytes=1000, entries=20)


def tar_of(path, files, *members, mode="w"):
    with tarfile.open(path, mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in members:
            tar.addfile(member)
    return path


def zip_of(path, files, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for member in members:
            archive.writestr(member, b"x")
    return path


PACKED = [
    pytest.param(tar_of, id="tar"),
    pytest.param(lambda path, files: tar_of(path, files, mode="w:gz"), id="tar.gz"),
    pytest.param(zip_of, id="zip"),
]


def refused(upload, tmp_path, limits=SMALL) -> str:
    """Unpack what must be refused; returns why. Nothing is left behind."""
    into = tmp_path / "into"
    with pytest.raises(UploadRefused) as told:
        unpack_upload(upload, into, limits)
    assert not into.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [upload.name]
    return str(told.value)


@pytest.mark.parametrize("pack", PACKED)
def test_only_what_belongs_to_the_metadata_log_comes_out(pack, tmp_path):
    into = tmp_path / "into"
    folder = unpack_upload(pack(tmp_path / "up", NODE), into, SMALL)
    found = {str(p.relative_to(into)): p.read_bytes() for p in into.rglob("*") if p.is_file()}
    assert folder == into / "__cluster_metadata-0"
    assert found == {
        f"__cluster_metadata-0/{SEGMENT}": b"segment",
        f"__cluster_metadata-0/{SNAPSHOT}": b"snapshot",
        "__cluster_metadata-0/quorum-state": b"{}",
        "meta.properties": b"cluster.id=abc",
        "bootstrap.checkpoint": b"bootstrap",
    }


@pytest.mark.parametrize("pack", PACKED)
def test_a_folder_of_another_name_and_the_top_are_taken_too(pack, tmp_path):
    for name in (SEGMENT, f"./copied here/{SEGMENT}"):
        into = tmp_path / str(len(name))
        folder = unpack_upload(pack(tmp_path / "up", {name: b"segment"}), into, SMALL)
        assert (folder / SEGMENT).read_bytes() == b"segment"


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize(
    "name",
    [
        f"../{SEGMENT}",
        f"/etc/{SEGMENT}",
        f"a/../../{SEGMENT}",
        f"C:/{SEGMENT}",
        f"..\\{SEGMENT}",
        "x" * 5000,
    ],
)
def test_a_path_that_leads_elsewhere_refuses_the_whole_upload(pack, name, tmp_path):
    why = refused(pack(tmp_path / "up", NODE | {name: b""}), tmp_path)
    assert "no path inside a folder" in why


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
    ids=["symlink", "hard link", "character device", "block device", "pipe"],
)
def test_links_and_devices_in_a_tar_are_refused(kind, tmp_path):
    member = tarfile.TarInfo(f"{FOLDER}/00000000000000000009.log")
    member.type, member.linkname = kind, "/etc/passwd"
    assert "only plain files" in refused(tar_of(tmp_path / "up", NODE, member), tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_in_a_zip_are_refused(kind, tmp_path):
    member = zipfile.ZipInfo(f"{FOLDER}/00000000000000000009.log")
    member.external_attr = (kind | 0o777) << 16
    assert "only plain files" in refused(zip_of(tmp_path / "up", NODE, member), tmp_path)


@pytest.mark.parametrize("pack", PACKED)
def test_a_bomb_is_refused_before_it_is_written(pack, tmp_path):
    bomb = {f"{FOLDER}/{SEGMENT}": b"\0" * 1_000_000}
    assert "more than 1000 bytes" in refused(pack(tmp_path / "up", bomb), tmp_path)


@pytest.mark.parametrize("pack", PACKED)
def test_a_bomb_in_a_file_that_is_not_needed_is_refused_too(pack, tmp_path):
    bomb = NODE | {"node-1/ignored": b"\0" * 1_000_000}
    assert "more than 1000 bytes" in refused(pack(tmp_path / "up", bomb), tmp_path)


def test_a_zip_that_lies_about_sizes_is_counted(tmp_path):
    upload = zip_of(tmp_path / "up", {f"{FOLDER}/{SEGMENT}": b"\0" * 100_000})
    content = upload.read_bytes()
    lie = content.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    upload.write_bytes(lie)
    refused(upload, tmp_path)


def test_the_directory_of_a_zip_is_not_read_when_it_has_too_many_entries(tmp_path):
    """A hundred thousand entries of 70 bytes each would be 60 MB of objects."""
    name = b"00000000000000000000.log"
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", *[0] * 9, len(name), *[0] * 6) + name
    directory = entry * 100_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, len(directory), 0, 0)
    upload = tmp_path / "up"
    upload.write_bytes(directory + end)
    tracemalloc.start()
    try:
        assert "more entries" in refused(upload, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", PACKED)
def test_too_many_entries_are_refused(pack, tmp_path):
    many = {f"{FOLDER}/{n:020}.log": b"" for n in range(21)}
    assert "more than 20 entries" in refused(pack(tmp_path / "up", many), tmp_path)


def test_a_name_of_gigabytes_in_a_tar_is_refused_without_reading_it(tmp_path):
    member = tarfile.TarInfo("pax")
    member.type, member.size = tarfile.XHDTYPE, 1 << 32
    upload = tmp_path / "up"
    upload.write_bytes(gzip.compress(member.tobuf() + b"\0" * 100_000))
    assert "honest archive" in refused(upload, tmp_path)


def test_two_nodes_in_one_upload_are_reported_apart(tmp_path):
    two = NODE | {f"node-2/__cluster_metadata-0/{SEGMENT}": b"other"}
    assert "one node's" in refused(tar_of(tmp_path / "up", two), tmp_path)


@pytest.mark.parametrize("pack", PACKED)
def test_an_upload_without_a_log_says_what_to_pack(pack, tmp_path):
    assert "__cluster_metadata-0" in refused(pack(tmp_path / "up", {"notes.txt": b""}), tmp_path)


def test_the_same_file_twice_is_refused(tmp_path):
    member = tarfile.TarInfo(f"{FOLDER}/{SEGMENT}")
    assert "twice" in refused(tar_of(tmp_path / "up", NODE, member), tmp_path)


def test_an_encrypted_zip_is_refused(tmp_path):
    upload = zip_of(tmp_path / "up", {f"{FOLDER}/{SEGMENT}": b"segment"})
    content = bytearray(upload.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    upload.write_bytes(content)
    assert "encrypted" in refused(upload, tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"hello" * 500, id="something else"),
        pytest.param(b"PK\x03\x04" + b"\0" * 100, id="the beginning of a zip"),
        pytest.param(gzip.compress(b"hello" * 500), id="gzip of something else"),
    ],
)
def test_what_is_no_archive_is_refused(content, tmp_path):
    upload = tmp_path / "up"
    upload.write_bytes(content)
    refused(upload, tmp_path)


@given(
    pack=st.sampled_from([tar_of, zip_of, lambda path, files: tar_of(path, files, mode="w:gz")]),
    changes=st.lists(
        st.tuples(st.integers(0, 1 << 16), st.binary(max_size=6)), min_size=1, max_size=4
    ),
)
def test_whatever_is_damaged_an_upload_is_taken_whole_or_refused(tmp_path_factory, pack, changes):
    folder = tmp_path_factory.mktemp("up")
    upload = pack(folder / "up", NODE)
    content = bytearray(upload.read_bytes())
    for at, piece in changes:
        content[at % len(content) : at % len(content) + len(piece)] = piece
    upload.write_bytes(content)
    try:
        unpack_upload(upload, folder / "into", SMALL)
    except UploadRefused:
        assert not (folder / "into").exists()
    allowed = {folder / "up", folder / "into"}
    assert set(folder.iterdir()) <= allowed


@pytest.mark.parametrize("pack", PACKED)
def test_an_archive_that_is_cut_off_anywhere_is_refused(pack, tmp_path):
    upload = pack(tmp_path / "up", NODE)
    whole = upload.read_bytes()
    for size in range(0, len(whole) * 3 // 4, max(1, len(whole) // 23)):
        upload.write_bytes(whole[:size])
        try:
            unpack_upload(upload, tmp_path / "into", SMALL)
        except UploadRefused:
            assert not (tmp_path / "into").exists()
        else:
            # A tar says nowhere how many files it has: what came out is whole files of it.
            for path in (tmp_path / "into" / "__cluster_metadata-0").iterdir():
                assert path.read_bytes() == NODE[f"{FOLDER}/{path.name}"]
            return


ZEROS = {f"{FOLDER}/{SEGMENT}": bytes(8 << 20)}


@pytest.mark.parametrize("pack", PACKED[1:])
def test_zeros_are_refused_while_they_stream_and_before_they_are_written(pack, tmp_path):
    upload = pack(tmp_path / "zeros", ZEROS)
    limits = UploadLimits(free_bytes=1 << 20)
    told = refused(upload, tmp_path, limits)
    assert "more than 100 times its size" in told
    assert str(tmp_path) not in told


def test_zeros_in_a_zip_that_says_it_is_larger_than_it_is_are_refused_too(tmp_path):
    upload = zip_of(tmp_path / "zeros", ZEROS)
    content = bytearray(upload.read_bytes())
    # The packed size of the only entry, in the directory.
    struct.pack_into("<L", content, content.index(b"PK\1\2") + 20, 1 << 20)
    upload.write_bytes(content)
    told = refused(upload, tmp_path, UploadLimits(free_bytes=1 << 20))
    assert "more than 100 times its size" in told


def test_what_is_skipped_of_a_compressed_archive_is_looked_at_step_by_step(tmp_path):
    upload = tar_of(tmp_path / "zeros", {"other": bytes(64 << 20)}, mode="w:gz")
    before = time.process_time()
    told = refused(upload, tmp_path, UploadLimits(free_bytes=1 << 20))
    assert "more than 100 times its size" in told
    assert time.process_time() - before < 5


@pytest.mark.parametrize("pack", PACKED)
def test_a_small_archive_may_expand_as_far_as_it_likes(pack, tmp_path):
    upload = pack(tmp_path / "zeros", ZEROS)
    unpack_upload(upload, tmp_path / "into")
    assert (tmp_path / "into" / "__cluster_metadata-0" / SEGMENT).stat().st_size == 8 << 20
