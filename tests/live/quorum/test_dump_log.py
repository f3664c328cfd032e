"""Logs read as Kafka 4.3.1's own kafka-dump-log reads them: records made here, and those of real nodes."""

import base64
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.quorum.log.folder import read_folder
from jobs.wire.batches.log_batches import BatchAt, BytesSource, scan_batches
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.messages.schema import Field, Kind, plain_fields, tagged_fields
from jobs.wire.metadata.log import LogRecord, read_log
from jobs.wire.metadata.records import encode_metadata_record, redact
from jobs.wire.metadata.schema import METADATA_SCHEMAS
from jobs.wire.topics.consumer_offsets import GROUP_RECORD_TYPES, KEY_SCHEMAS, VALUE_SCHEMAS
from jobs.wire.topics.internal_logs import LogKind, records_of_batch
from jobs.wire.values import uuid_text
from tests.jobs.wire.kraft_dump import parse_dump
from tests.jobs.wire.metadata.snapshot_writer import segment_file_name
from tests.jobs.wire.metadata_values import TIME, control_batch, data_batch, every_version
from tests.jobs.wire.topics.written_records import encode_group_record
from tests.live.kafka_tools import dump_log, run_tool
from tests.live.topics import new_topic
from tests.waiting import eventually

_WIDTHS = {Kind.INT8: 7, Kind.INT16: 15, Kind.UINT16: 16, Kind.INT32: 31, Kind.INT64: 63}
_NUMBERS = [0.0, -1.5, 1e300, 5e-324, 0.1, 1e7, "NaN", "Infinity", "-Infinity"]
_LETTERS = 'abcXYZ09-._ äß漢🙂"\\\n\t'
_OTHERS: dict[Kind, Callable[[random.Random], Any]] = {
    Kind.BOOL: lambda chance: chance.random() < 0.5,
    Kind.FLOAT64: lambda chance: chance.choice(_NUMBERS),
    Kind.UUID: lambda chance: uuid_text(chance.randbytes(16)),
    Kind.STRING: lambda chance: "".join(chance.choices(_LETTERS, k=chance.randrange(9))),
    Kind.BYTES: lambda chance: base64.b64encode(chance.randbytes(chance.randrange(9))).decode(),
}

pytestmark = pytest.mark.timeout(900)

PROGRAM = Path(__file__).with_name("PrintSchemas.java")
METADATA, OFFSETS = "--cluster-metadata-decoder", "--offsets-decoder"
# Records that the lab's Kafka does not have yet.
LATER = {"UNREGISTER_CONTROLLER_RECORD"}
_GROUP_LINE = re.compile(r"^\| offset: (\d+) .*? key: (\{.*?\}) payload: (.*)$", re.MULTILINE)


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def field_lines(place: str, fields: tuple[Field, ...], version: int) -> list[str]:
    found = []
    tagged = tagged_fields(fields, version)
    for field in (*plain_fields(fields, version), *tagged.values()):
        name, tag = snake(field.name), -1 if field.tag is None else field.tag
        kind = {"bool": "BOOLEAN"}.get(field.kind.value, field.kind.name)
        flags = f"{str(field.is_array).lower()} {str(field.nullable).lower()}"
        found.append(f"FIELD {place}{name} {tag} {kind} {flags}")
        found += field_lines(f"{place}{name}.", field.fields, version)
    return found


def test_the_table_of_records_is_that_of_kafkas_own_classes(kafka, tmp_path):
    printed = run_tool(kafka, tmp_path, str(PROGRAM))
    theirs = [line for line in printed.splitlines() if line.startswith(("RECORD ", "FIELD "))]
    ours = []
    for schema, version in every_version(METADATA_SCHEMAS):
        if schema.type not in LATER:
            ours.append(f"RECORD {schema.number} {schema.type} {version}")
            ours += field_lines(f"{schema.type} {version} ", schema.fields, version)
    assert ours == theirs


def test_every_type_and_version_of_record_is_read_as_kafka_reads_it(kafka, tmp_path):
    chance = random.Random(853)
    values = [
        encode_metadata_record(schema.type, version, sample(schema.fields, version, chance))
        for schema, version in every_version(METADATA_SCHEMAS)
        for _ in range(6)
        if schema.type not in LATER
    ]
    voter = {"voterId": 1, "voterDirectoryId": "ERERERERQRGBEREREREREQ"}
    voter["endpoints"] = [{"name": "CONTROLLER", "host": "h", "port": 65535}]
    leader = {"leaderId": 1, "voters": [{"voterId": 1}], "grantingVoters": [{"voterId": 1}]}
    end = len(values)
    content = (
        data_batch(0, values)
        + control_batch(end, ("LEADER_CHANGE", leader))
        + control_batch(end + 1, ("KRAFT_VERSION", {"kRaftVersion": 1}))
        + control_batch(end + 2, ("KRAFT_VOTERS", {"voters": [voter]}))
    )
    path = tmp_path / segment_file_name(0)
    path.write_bytes(content)
    assert_same(parse_dump(dump_log(kafka, tmp_path, [path], METADATA))[path.name].records, path)
    assert len(list(read_log(content, strict=True))) == end + 3


def assert_same(theirs, path: Path) -> None:
    ours = [
        (one.offset, one.timestamp_ms, one.type, one.data)
        for one in read_log(path.read_bytes(), strict=True)
    ]
    redacted = [(*place, kind, redact(kind, data)) for *place, kind, data in theirs]
    assert len(ours) == len(redacted)
    for our, their in zip(ours, redacted, strict=True):
        assert our == their


@pytest.fixture(scope="module")
def node_folder(east, tmp_path_factory) -> Path:
    """A copy of a node's metadata log after topics came and went; the node goes on writing its own."""
    new_topic(east, 3)
    new_topic(east, 2, cleanup_policy="compact")
    data = east.nodes[1].plan.data
    copy = tmp_path_factory.mktemp("metadata") / "__cluster_metadata-0"
    shutil.copytree(data / "__cluster_metadata-0", copy, ignore=shutil.ignore_patterns("*index"))
    for name in ("meta.properties", "bootstrap.checkpoint"):
        if (data / name).exists():
            shutil.copy(data / name, copy.parent)
    return copy


def test_segments_and_snapshots_of_a_node_are_read_as_kafka_dump_log_reads_them(
    kafka, tmp_path, node_folder
):
    files = sorted(path for path in node_folder.iterdir() if path.suffix in {".log", ".checkpoint"})
    dumped = parse_dump(dump_log(kafka, tmp_path, files, METADATA))
    assert {path.name for path in files} == set(dumped)
    types = set()
    for path in files:
        assert_same(dumped[path.name].records, path)
        types |= {kind for *_, kind, _ in dumped[path.name].records}
    assert {"PARTITION_RECORD", "CONFIG_RECORD", "LEADER_CHANGE", "REGISTER_BROKER_RECORD"} <= types


def test_credentials_in_a_real_log_are_there_and_never_read(kafka, tmp_path, secure):
    folder = secure.cluster.nodes[1].plan.data / "__cluster_metadata-0"
    copy = shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns("*index"))
    files = sorted(path for path in copy.iterdir() if path.suffix in {".log", ".checkpoint"})
    secrets = set()
    for path, dumped in zip(
        files, parse_dump(dump_log(kafka, tmp_path, files, METADATA)).values(), strict=True
    ):
        told = [data for *_, kind, data in dumped.records if kind == "USER_SCRAM_CREDENTIAL_RECORD"]
        secrets |= {one[name] for one in told for name in ("salt", "storedKey", "serverKey")}
        assert_same(dumped.records, path)
    assert secrets
    ours = json.dumps([one.data for path in files for one in read_log(path.read_bytes())])
    assert not [secret for secret in secrets if secret in ours]


def test_the_folder_of_a_node_is_one_history_without_damage(node_folder):
    folder = read_folder(node_folder.parent)
    records = list(folder.records())
    assert all(isinstance(one, LogRecord) for one in records)
    assert folder.findings == ()
    assert folder.quorum_state is not None
    assert folder.topic_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    behind = [one.offset for one in records if one.batch_offset == one.offset]
    assert behind == sorted(behind)


def test_the_folder_of_a_node_that_is_writing_is_read_without_damage(east):
    folder = read_folder(east.nodes[1].plan.data)
    before = len(list(folder.records()))
    eventually(lambda: len(list(folder.records())) > before)
    assert not [one for one in folder.records() if not isinstance(one, LogRecord)]


def group_lines(printed: str) -> list[tuple[int, object, object]]:
    found = []
    for offset, key, value in _GROUP_LINE.findall(printed):
        told = None if value == "<DELETE>" else json.loads(value)
        found.append((int(offset), json.loads(key), told))
    return found


def our_group_lines(content: bytes) -> list[tuple[int, object, object]]:
    numbers = {name: str(number) for number, name in GROUP_RECORD_TYPES.items()}
    found = []
    for batch in scan_batches(BytesSource(content)):
        assert isinstance(batch, BatchAt)
        for one in records_of_batch(batch, LogKind.CONSUMER_OFFSETS, strict=True):
            key = {"type": numbers.get(one.type), "data": one.data.get("key")}
            value = one.data.get("value")
            told = None if value is None else {"version": str(one.version), "data": value}
            found.append((one.offset, key, told))
    return found


def is_decoded(line) -> bool:
    return line[1]["type"] in {"0", "1", "2"}


def test_every_version_of_a_group_record_is_read_as_kafka_reads_it(kafka, tmp_path):
    chance = random.Random(98)
    records = [
        encode_group_record(
            schema.number,
            version,
            sample(KEY_SCHEMAS[schema.number].fields, 0, chance),
            sample(schema.fields, version, chance),
        )
        for schema, version in every_version(list(VALUE_SCHEMAS.values()))
        for _ in range(5)
        if schema.number or version == 0
    ]
    records.append(encode_group_record(1, 0, {"group": "g", "topic": "t"}, None))
    path = tmp_path / segment_file_name(0)
    path.write_bytes(
        b"".join(encode_batch([PlacedRecord(at, TIME, *one)]) for at, one in enumerate(records))
    )
    theirs = group_lines(dump_log(kafka, tmp_path, [path], OFFSETS))
    assert our_group_lines(path.read_bytes()) == theirs
    assert len(theirs) == len(records)


def test_committed_offsets_of_a_broker_are_read_as_kafka_dump_log_reads_them(kafka, tmp_path, west):
    topic = new_topic(west, 2)
    offsets = {
        TopicPartition(topic, 0): CommittedOffset(0, "from a test"),
        TopicPartition(topic, 1): CommittedOffset(0),
    }
    with ClusterClient(west.connection) as client:
        alter_group_offsets(client, f"g-{topic}", offsets)
    logs = west.nodes[1].plan.data.glob("__consumer_offsets-*/*.log")
    written = [path for path in sorted(logs) if path.stat().st_size]
    committed = set()
    for number, path in enumerate(written):
        copy = tmp_path / str(number) / path.name
        copy.parent.mkdir()
        shutil.copy(path, copy)
        theirs = [
            one
            for one in group_lines(dump_log(kafka, tmp_path, [copy], OFFSETS))
            if is_decoded(one)
        ]
        ours = [one for one in our_group_lines(copy.read_bytes()) if is_decoded(one)]
        assert ours == theirs
        committed |= {one[1]["data"]["group"] for one in ours if one[2] is not None}
    assert f"g-{topic}" in committed


def sample(fields: tuple[Field, ...], version: int, chance: random.Random) -> dict[str, Any]:
    """Values for the fields of a version; tagged ones are there half of the time, and never their default."""
    found = {field.name: _value(field, version, chance) for field in plain_fields(fields, version)}
    for field in tagged_fields(fields, version).values():
        value = _value(field, version, chance)
        if chance.random() < 0.5 and value not in (field.default, [], None):
            found[field.name] = value
    return found


def _value(field: Field, version: int, chance: random.Random) -> Any:
    if field.nullable and chance.random() < 0.3:
        return None
    if field.is_array:
        return [_one(field, version, chance) for _ in range(chance.randrange(4))]
    return _one(field, version, chance)


def _one(field: Field, version: int, chance: random.Random) -> Any:
    kind = field.kind
    if kind is Kind.STRUCT:
        return sample(field.fields, version, chance)
    if kind in _OTHERS:
        return _OTHERS[kind](chance)
    size = _WIDTHS[kind]
    lowest = 0 if kind is Kind.UINT16 else -(1 << size)
    return chance.choice([lowest, (1 << size) - 1, 1, chance.randrange(lowest, 1 << size)])
