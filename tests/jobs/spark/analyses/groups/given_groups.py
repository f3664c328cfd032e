"""Records of groups as coordinators write them, and what `rebalances` makes of them."""

import base64
import struct

from jobs.spark.analyses.groups.reading import reduce_groups
from jobs.spark.analyses.records.ranges import Work
from tests.jobs.spark.analyses.records.given_records import reader_of, record
from tests.jobs.streams.written import text16
from tests.jobs.wire.topics.written_records import encode_group_record

OPTIONS = {"names": None, "globs": [], "from_ms": 0, "most": 100}
TOPIC_ID = bytes(range(16))


def assignment(*partitions, topic="orders"):
    """Return the assignment of a plain consumer, version 0, without user data."""
    numbers = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return b"\0\0" + struct.pack(">i", 1) + text16(topic) + numbers + struct.pack(">i", -1)


def generation(group, number, at_ms, members=None, static=(), kind="consumer"):
    """Return a classic generation: `members` are partitions by client."""
    made = [
        {
            "memberId": f"{client}-{number if client in static else 1}",
            "groupInstanceId": client if client in static else None,
            "clientId": client,
            "clientHost": "/10.0.0.1",
            "rebalanceTimeout": 1,
            "sessionTimeout": 1,
            "subscription": "",
            "assignment": base64.b64encode(assignment(*own)).decode(),
        }
        for client, own in (members or {}).items()
    ]
    data = {
        "protocolType": kind,
        "generation": number,
        "protocol": "range" if made else None,
        "leader": made[0]["memberId"] if made else None,
        "currentStateTimestamp": at_ms,
        "members": made,
    }
    return at_ms, *encode_group_record(2, 3, {"group": group}, data)


def deleted(group, at_ms, number=2):
    return at_ms, struct.pack(">h", number) + text16(group), None


def commit(group, at_ms):
    return at_ms, struct.pack(">h", 1) + text16(group) + text16("orders") + b"\0\0\0\0", b"no value"


def compact(text):
    content = text.encode()
    return bytes([len(content) + 1]) + content


def epoch(group, number, at_ms, key=3):
    return at_ms, struct.pack(">h", key) + text16(group), struct.pack(">hi", 0, number) + b"\0"


def member(group, member_id, at_ms, key=5, *, is_there=True):
    names = compact("app") + compact("/10.0.0.1")
    rest = bytes([1, 0, 0, 0, 0, 0]) + compact("uniform") + b"\0" if key == 5 else b"later fields"
    value = b"\0\0" + b"\0\0" + names + rest
    name = struct.pack(">h", key) + text16(group) + text16(member_id)
    return at_ms, name, value if is_there else None


def current(group, member_id, number, at_ms, *partitions, state=0):
    """Return what a member of the consumer protocol has; without partitions it has none."""
    name = struct.pack(">h", 8) + text16(group) + text16(member_id)
    numbers = struct.pack(f">{len(partitions)}i", *partitions)
    topics = (
        b"\2" + TOPIC_ID + bytes([len(partitions) + 1]) + numbers + b"\0" if partitions else b"\1"
    )
    return at_ms, name, struct.pack(">hiib", 0, number, number - 1, state) + topics + b"\1\0"


def gone(group, member_id, at_ms):
    """Return the tombstones of a member that leaves."""
    key = text16(group) + text16(member_id)
    return [(at_ms, struct.pack(">h", number) + key, None) for number in (8, 7, 5)]


def told(*records, offsets=None, log_start=0, **options):
    """Return the tables of records (time, key, value), at offsets from 0 on unless they are given."""
    flat = [one for given in records for one in (given if isinstance(given, list) else [given])]
    places = range(len(flat)) if offsets is None else offsets
    made = [
        record(at, key, value, at_ms=ms) for at, (ms, key, value) in zip(places, flat, strict=True)
    ]
    reader = reader_of(made, topic="__consumer_offsets", log_start=log_start)
    tables = reduce_groups([reader], Work((reader.span,)), {**OPTIONS, **options})
    return {name: table.to_pylist() for name, table in tables.items()}


def columns(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]
