"""Records of Protobuf: the message of a schema that the indexes before it name, by its JSON mapping.

Fields have the names of the schema; one without presence has its default; 64-bit numbers are text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobs.cluster.schemas.client import FetchedSchema
from jobs.cluster.schemas.errors import BadFrame

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

_MOST_INDEX_BYTES = 100
_MAIN = "crosslog_main.proto"
_KNOWN = re.compile(r"(google/protobuf|confluent(/type)?)/[a-z_]+\.proto")


def protobuf_reader(fetched: FetchedSchema) -> Callable[[bytes], Any]:
    """Return what decodes indexes and bytes behind a frame; raises `faults` for an unusable schema."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message_factory import GetMessageClass

    pool, added = DescriptorPool(), set[str]()
    for name, text in (*fetched.references.items(), (_MAIN, fetched.text)):
        main = FileDescriptorProto.FromString(b64decode(text, validate=True))
        main.name = name
        _add_file(pool, main, added)

    def decoded(data: bytes) -> Any:
        indexes, place = _indexes(data)
        names, messages = [main.package] if main.package else [], main.message_type
        for index in indexes:
            names.append(messages[index].name)
            messages = messages[index].nested_type
        message = GetMessageClass(pool.FindMessageTypeByName(".".join(names)))()
        message.ParseFromString(data[place:])
        form = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
        return MessageToDict(message, descriptor_pool=pool, **form)

    return decoded


def _add_file(pool: DescriptorPool, file: FileDescriptorProto, added: set[str]) -> None:
    """Add a file, and before it what every registry knows without a reference; ValueError for others."""
    for name in set(file.dependency) - added:
        if not _KNOWN.fullmatch(name):
            raise ValueError("a file is neither a reference nor known")
        room = "confluent_kafka.schema_registry." if name.startswith("confluent") else ""
        known = import_module(f"{room}{name.removesuffix('.proto').replace('/', '.')}_pb2")
        _add_file(pool, type(file).FromString(known.DESCRIPTOR.serialized_pb), added)
    added.add(file.name)
    pool.Add(file)


def _indexes(data: bytes) -> tuple[list[int], int]:
    """Return the way to a message and where its bytes begin; a count of 0 is the first message."""
    numbers = _numbers(data[:_MOST_INDEX_BYTES])
    count, place = next(numbers)
    indexes = []
    for _ in range(count):
        index, place = next(numbers)
        indexes.append(index)
    if min(count, *indexes, 0) < 0:
        raise BadFrame("The frame has a message index below zero.")
    return indexes or [0], place


def _numbers(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield zigzag numbers of variable length, each with the place behind it."""
    value = shift = 0
    for place, byte in enumerate(data, 1):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004
            yield (value >> 1) ^ -(value & 1), place
            value = shift = 0
    raise BadFrame("The message indexes of the frame are truncated or too long.")
