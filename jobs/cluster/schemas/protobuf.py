"""Records of Protobuf: the message of a schema that the indexes before it name, by its JSON mapping.

Fields have the names of the schema; one without presence has its default; 64-bit numbers are text.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jobs.cluster.schemas.client import FetchedSchema
from jobs.cluster.schemas.errors import BadFrame

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

# Of one number, and of the messages inside messages that indexes name.
_MOST_BITS, _MOST_INDEXES = 35, 100
_MAIN = "crosslog_main.proto"


def protobuf_reader(fetched: FetchedSchema) -> Callable[[bytes], Any]:
    """Return what decodes the indexes and bytes behind a frame; raises TypeError, ValueError and KeyError."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.json_format import Error, MessageToDict
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    added: set[str] = set()
    for name, text in (*fetched.references.items(), (_MAIN, fetched.text)):
        try:
            file = FileDescriptorProto.FromString(b64decode(text, validate=True))
        except DecodeError as error:
            raise ValueError("the schema is no serialized file descriptor") from error
        file.name = name
        _add_file(pool, file, added)
    main = file

    def decoded(data: bytes) -> Any:
        indexes, place = _indexes(data)
        message = GetMessageClass(pool.FindMessageTypeByName(_message_name(main, indexes)))()
        try:
            message.ParseFromString(data[place:])
            return MessageToDict(
                message,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
                descriptor_pool=pool,
            )
        except (DecodeError, Error) as error:
            raise ValueError("the bytes are not this message") from error

    return decoded


def _add_file(pool: DescriptorPool, file: FileDescriptorProto, added: set[str]) -> None:
    """Add a file, and before it what every registry knows without a reference; raises KeyError for others."""
    import confluent_kafka.schema_registry.confluent.meta_pb2
    import confluent_kafka.schema_registry.confluent.type.decimal_pb2  # noqa: F401
    from google.protobuf import (  # noqa: F401
        any_pb2,
        api_pb2,
        descriptor_pb2,
        descriptor_pool,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        source_context_pb2,
        struct_pb2,
        timestamp_pb2,
        type_pb2,
        wrappers_pb2,
    )  # fmt: skip

    for name in file.dependency:
        if name not in added:
            known = descriptor_pb2.FileDescriptorProto()
            descriptor_pool.Default().FindFileByName(name).CopyToProto(known)
            _add_file(pool, known, added)
    added.add(file.name)
    pool.Add(file)


def _indexes(data: bytes) -> tuple[list[int], int]:
    """Return the way to a message and where its bytes begin; a count of 0 is the first message."""
    count, place = _number(data, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise BadFrame(f"The frame has {count} message indexes.")
    indexes = []
    for _ in range(count):
        index, place = _number(data, place)
        indexes.append(index)
    return indexes or [0], place


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Return a zigzag number of variable length and the place behind it."""
    value = 0
    for shift in range(0, _MOST_BITS, 7):
        if place == len(data):
            break
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return (value >> 1) ^ -(value & 1), place
    raise BadFrame("The message indexes of the frame are truncated or too long.")


def _message_name(file: FileDescriptorProto, indexes: list[int]) -> str:
    names, messages = [file.package] if file.package else [], file.message_type
    for index in indexes:
        if index < 0:
            raise IndexError(index)
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)
