"""Asking a node whether it serves: DescribeCluster (KIP-700) over a plain socket, no client needed."""

from __future__ import annotations

import socket
import struct

_DESCRIBE_CLUSTER, _VERSION = 60, 0
_CLIENT = b"crosslog-lab"
_MORE, _SEVEN_BITS = 0x80, 0x7F


def live_brokers(address: str, cluster_id: str, *, timeout_s: float = 1.0) -> frozenset[int] | None:
    """Return the ids of the unfenced brokers as this broker knows them; None when it does not answer.

    An answer of another cluster, which was faster to take the port, is none either.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_request())
            return read_brokers(_receive(connection), cluster_id)
    except (OSError, ValueError, struct.error):
        return None


def accepts(address: str, *, timeout_s: float = 1.0) -> bool:
    """Return whether something listens there: all that a controller's listener shows to a stranger."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout_s).close()
    except OSError:
        return False
    return True


def read_brokers(answer: bytes, cluster_id: str) -> frozenset[int] | None:
    """Return the broker ids of a DescribeCluster response v0.

    None when it carries an error or comes from another cluster.
    """
    reader = _Reader(answer)
    reader.skip(4)  # correlation id
    reader.tags()
    reader.skip(4)  # throttle time
    if reader.number(">h") != 0:
        return None
    reader.text()  # error message
    if reader.text() != cluster_id.encode():
        return None
    reader.skip(4)  # controller id
    brokers = set()
    for _ in range(reader.varint() - 1):
        brokers.add(reader.number(">i"))
        reader.text()  # host
        reader.skip(4)  # port
        reader.text()  # rack
        reader.tags()
    return frozenset(brokers)


def _request() -> bytes:
    header = struct.pack(">hhih", _DESCRIBE_CLUSTER, _VERSION, 1, len(_CLIENT)) + _CLIENT + b"\0"
    body = b"\0\0"  # include_cluster_authorized_operations=false, no tags
    return struct.pack(">i", len(header + body)) + header + body


def _receive(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _read(connection, 4))
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed in the middle of an answer")
        parts += part
    return parts


class _Reader:
    """Reads a flexible-version response from left to right."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.at = 0

    def skip(self, size: int) -> bytes:
        if self.at + size > len(self.answer):
            raise ValueError("the answer ends too early")
        self.at += size
        return self.answer[self.at - size : self.at]

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self.skip(struct.calcsize(form)))[0]
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.skip(1)[0]
            value |= (byte & _SEVEN_BITS) << shift
            if byte < _MORE:
                return value
            shift += 7

    def text(self) -> bytes | None:
        size = self.varint()
        return self.skip(size - 1) if size else None

    def tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())
