"""A damaged imported log says on every page, in the API and in files what of it cannot be read."""

import io
import shutil
import struct
import tarfile

import pytest
from django.db import connection

from console.quorum import queries
from console.quorum.history.queries import Moment
from console.quorum.log import gaps, imports, store
from console.quorum.log.archives import archive_of
from console.quorum.log.log_fold import LogFold, MissingSpan
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataChange, MetadataLog
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log_tables.reading import partition_changes
from jobs.quorum.log_tables.writing import write_partitions
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.log_batches import BatchAt, BytesSource, DamageKind, LogDamage, scan_batches
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_log
from tests.support import METADATA_FOLDER

pytestmark = pytest.mark.django_db
ADDRESS = "/quorum/-/import/"
API = "/api/v1/quorum/"
LAST = "00000000000000000875.log"
_LISTS = ("quorum/elections", "quorum/voter-sets", "metadata-changes", "partition-changes")
PAGES = ("", "voters/", "partitions/", "brokers/", "settings/", "state/", "log/", "records/880/")


@pytest.fixture(autouse=True)
def archive(settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    return tmp_path / "archive"


@pytest.fixture
def node(tmp_path):
    """A real node's log, to be damaged."""
    folder = shutil.copytree(METADATA_FOLDER, tmp_path / "node-1" / METADATA_FOLDER.name)
    for path in folder.iterdir():
        path.chmod(0o600)
    return folder


def packed(folder):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(folder.parent, "node-1")
    file.seek(0)
    file.name = "node-1.tar.gz"
    return file


def batches(path):
    found = scan_batches(BytesSource(path.read_bytes()))
    return [one for one in found if isinstance(one, BatchAt)]


def damage(path, offset):
    """Turn a bit of the batch at an offset; returns its byte, and the offset behind it."""
    content = bytearray(path.read_bytes())
    at, header, _ = next(one for one in batches(path) if one.header.base_offset == offset)
    content[at + header.size_bytes - 1] ^= 1
    path.write_bytes(content)
    return at, header.next_offset


def redated(path, offset, timestamp_ms):
    """Give a batch another time, and the CRC that belongs to it."""
    content = bytearray(path.read_bytes())
    at, header, _ = next(one for one in batches(path) if one.header.base_offset == offset)
    struct.pack_into(">qq", content, at + 27, timestamp_ms, timestamp_ms)
    end = at + header.size_bytes
    struct.pack_into(">I", content, at + 17, checksum(bytes(content[at + 21 : end])))
    path.write_bytes(content)


def imported(client, folder):
    answer = client.post(ADDRESS, {"name": "incident", "file": packed(folder)})
    assert answer.status_code == 302, answer.content.decode()
    log = MetadataLog.objects.get(name="_incident")
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    return log


def offsets_of(path):
    return [one.header.base_offset for one in batches(path)]


def test_every_page_says_what_cannot_be_read_and_why(sign_in, operator, node):
    middle = offsets_of(node / LAST)[5]
    at, end = damage(node / LAST, middle)
    client = sign_in(operator)
    imported(client, node)
    for page in PAGES:
        shown = client.get(f"/quorum/_incident/{page}").content.decode()
        assert f"Offsets {middle:,} to {end - 1:,} are missing: {LAST}, byte {at:,}: " in shown, (
            page
        )
        assert "CRC" in shown


def test_the_api_says_where_reason_and_what_follows(sign_in, operator, node):
    middle = offsets_of(node / LAST)[5]
    at, end = damage(node / LAST, middle)
    client = sign_in(operator)
    imported(client, node)
    told = client.get(f"{API}_incident/").json()
    (gap,), (place,) = told["gaps"], told["damage"]
    assert (gap["from"], gap["to"], gap["file"], gap["position"]) == (middle, end, LAST, at)
    assert "CRC" in gap["reason"]
    assert gap["known_from"] == 885
    assert (place["kind"], place["offset"]) == ("wrong_crc", middle)
    for rows in _LISTS:
        (same,) = client.get(f"/api/v1/{rows}/?cluster=_incident").json()["gaps"]
        assert (same["cluster"], same["from"], same["to"]) == ("_incident", middle, end)


def test_files_end_with_a_row_for_each_gap(sign_in, operator, node):
    middle = offsets_of(node / LAST)[5]
    damage(node / LAST, middle)
    client = sign_in(operator)
    imported(client, node)
    for page in ("voters/?sets.format=csv", "log/?format=csv", "brokers/?format=csv"):
        answer = client.get(f"/quorum/_incident/{page}")
        assert "csv" in answer["Content-Type"], page
        first, *_, last = b"".join(answer.streaming_content).decode().splitlines()
        assert first.endswith(",Missing")
        assert f"Offsets {middle:,} to " in last


def test_a_state_behind_a_gap_is_unknown_up_to_the_next_snapshot(sign_in, operator, node):
    middle = offsets_of(node / LAST)[2]
    damage(node / LAST, middle)
    client = sign_in(operator)
    log = imported(client, node)
    assert queries.why_unsure(log, Moment(middle - 1)) == ""
    assert "This state is not certain" in queries.why_unsure(log, Moment(884))
    assert queries.why_unsure(log, Moment(885)) == ""
    shown = client.get("/quorum/_incident/state/?moment=884").content.decode()
    assert "certain again from the snapshot at offset 885" in shown
    assert (
        "not certain" in client.get(f"{API}_incident/state/?kind=topic&offset=884").json()["unsure"]
    )
    assert client.get(f"{API}_incident/state/?kind=topic&offset=885").json()["unsure"] == ""


def test_a_damaged_end_leaves_the_end_unknown(sign_in, operator, node):
    last = offsets_of(node / LAST)[-1]
    damage(node / LAST, last)
    client = sign_in(operator)
    log = imported(client, node)
    (gap,) = log.gaps
    assert (gap["from"], gap["to"]) == (last, None)
    shown = client.get("/quorum/_incident/").content.decode()
    assert f"Records from offset {last:,} on cannot be read: {LAST}, byte " in shown
    assert log.finding_set.filter(code="log_broken").exists()
    assert f"<dt>Gaps</dt><dd>Records from offset {last:,} on cannot be read" in shown


def test_an_unfinished_end_is_normal_and_told_with_its_offset(sign_in, operator, node):
    whole = (node / LAST).read_bytes()
    last = batches(node / LAST)[-1]
    (node / LAST).write_bytes(whole[:-5])
    client = sign_in(operator)
    log = imported(client, node)
    assert log.gaps == []
    assert not log.finding_set.filter(code="log_broken").exists()
    shown = client.get("/quorum/_incident/").content.decode()
    assert f"normal after a kill: {LAST}, byte {last.position:,}: " in shown
    (place,) = client.get(f"{API}_incident/").json()["damage"]
    assert (place["kind"], place["offset"]) == ("truncated_tail", last.header.base_offset)


@pytest.mark.parametrize("timestamp_ms", [1 << 62, -5], ids=["2^62", "negative"])
def test_an_impossible_time_is_said_and_loses_no_change(
    sign_in, operator, node, tmp_path, timestamp_ms
):
    whole = [one.offset for one in _partitions(METADATA_FOLDER, tmp_path / "w")]
    redated(node / LAST, 900, timestamp_ms)
    client = sign_in(operator)
    log = imported(client, node)
    assert log.failing_since is None
    assert log.last_at.year == NOW.year
    shown = client.get("/quorum/_incident/").content.decode()
    assert f"the record at offset 900 is dated {timestamp_ms} ms, which is no time" in shown
    assert [one.offset for one in _partitions(archive_of(log), tmp_path / "t")] == whole


def _partitions(folder, into):
    write_partitions(read_folder(folder), into, 0, 1)
    return list(partition_changes(into / "partition_changes"))


def test_what_is_read_behind_a_gap_is_the_same_with_and_without_spark(tmp_path, node):
    damage(node / LAST, offsets_of(node / LAST)[2])
    log = make_log(make_cluster("east"), start_offset=None, next_offset=0)
    for portion in LogFold().begin(node):
        save_portion(log, portion, NOW)
    # Of the snapshot behind the gap, Spark tells all, and the fold what differs from before.
    rows = MetadataChange.objects.filter(log=log, kind="partition", is_dated=True)
    told = [one.offset for one in _partitions(node, tmp_path / "t") if one.is_dated]
    assert sorted(told) == sorted(rows.values_list("offset", flat=True))
    assert told[-1] > 885


def test_archives_of_zeros_are_refused_while_they_stream(sign_in, operator, tmp_path, archive):
    folder = tmp_path / "zeros" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    with (folder / f"{0:020}.log").open("wb") as file:
        file.truncate(300 << 20)
    page = sign_in(operator).post(ADDRESS, {"name": "zeros", "file": packed(folder)})
    shown = page.content.decode()
    assert "It expands to more than 100 times its size" in shown
    assert str(tmp_path) not in shown
    assert not list(archive.rglob("*.log"))


def test_no_record_that_can_be_read_is_refused_without_a_path_of_the_server(
    sign_in, operator, tmp_path, archive
):
    folder = tmp_path / "empty" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(bytes(4096))
    answer = sign_in(operator).post(f"{API}imports/", {"name": "zeros", "file": packed(folder)})
    (text,) = [answer.json()["fields"]["file"]]
    assert "node-1.tar.gz has no record that can be read" in str(text)
    assert str(archive) not in answer.content.decode()
    assert not list(archive.rglob("*.log"))


def test_a_log_that_cannot_be_read_says_so_without_a_path_of_the_server(sign_in, operator, archive):
    log = MetadataLog.objects.create(name="_gone", source="import", created_at=NOW)
    archive_of(log).mkdir(parents=True)
    imports.fold_import(log.pk, NOW)
    log.refresh_from_db()
    assert log.failing_since
    assert str(archive) not in log.error
    assert "the archive" in log.error


def test_files_are_written_before_the_database_is_asked_to_write(sign_in, operator, node, archive):
    manifests = []

    def seen(execute, sql, *given):
        if 'INSERT INTO "quorum_metadatalog"' in sql:
            manifests.extend(archive.glob("metadata/incoming-*/manifest.json"))
        return execute(sql, *given)

    client = sign_in(operator)
    with connection.execute_wrapper(seen):
        client.post(ADDRESS, {"name": "incident", "file": packed(node)})
    assert len(manifests) == 1
    assert not list(archive.glob("metadata/incoming-*"))


def test_no_transaction_of_a_large_portion_has_more_rows_than_are_written_in_seconds(node):
    log = make_log(make_cluster("east"), start_offset=None, next_offset=0)
    (first, *_) = LogFold().begin(node)
    many = [*first.changes] * (store.MOST_AT_ONCE // len(first.changes) + 2)
    first.changes = [(change, number, kind) for number, (change, _, kind) in enumerate(many)]
    begun, counts = [], []

    def seen(execute, sql, params, *given):
        begun.extend([sql] if sql.startswith("SAVEPOINT") else [])
        if 'INTO "quorum_metadatachange"' in sql:
            counts.append(len(begun))
        return execute(sql, params, *given)

    with connection.execute_wrapper(seen):
        save_portion(log, first, NOW)
    assert len(set(counts)) > 1
    log.refresh_from_db()
    assert log.next_offset == first.next_offset


def test_gaps_and_damage_of_a_log_are_bounded():
    spans = [MissingSpan(2 * n, 2 * n + 1, 1_000, 2_000) for n in range(gaps.MOST + 5)]
    found = gaps.with_spans([], spans)
    assert (len(found), found[-1]["to"]) == (gaps.MOST, spans[-1].to_offset)
    damages = [LogDamage(n, None, DamageKind.WRONG_CRC, "x", LAST, n) for n in range(gaps.MOST + 5)]
    assert len(gaps.with_damages([], damages)) == gaps.MOST
