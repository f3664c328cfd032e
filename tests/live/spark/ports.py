"""Which ports the processes of a run listen on, and what somebody without its secret is told there."""

import contextlib
import socket
import struct
from pathlib import Path

from tests.waiting import eventually

_LISTENS = "0A"
# A frame of RPC: its length, the kind "RpcRequest", a number, and as body what Java would deserialise.
_BODY = b"\x00" * 8 + bytes.fromhex("aced0005") + b"t\x00\x05hello"
_REQUEST = struct.pack(">BqI", 3, 1, len(_BODY)) + _BODY
FRAME = struct.pack(">q", len(_REQUEST) + 8) + _REQUEST


def listening(pids) -> dict[int, str]:
    """Port -> address of every TCP socket on which one of these processes listens."""
    own = {inode for pid in pids for inode in _sockets_of(pid)}
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and fields[9] in own:
                address, _, port = fields[1].rpartition(":")
                found[int(port, 16)] = _address(address)
    return found


def _address(text: str) -> str:
    """What /proc/net writes: words of four bytes, each in the order of this machine."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    packed = b"".join(words)
    kind = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(kind, packed).removeprefix("::ffff:")


def _sockets_of(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                name = str(link.readlink())
                if name.startswith("socket:["):
                    found.add(name[8:-1])
    return found


def answer_to_a_stranger(port: int) -> bytes:
    """Send a request without any authentication; returns what comes back until the other side hangs up."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), 10) as stranger:
        stranger.settimeout(10)
        stranger.sendall(FRAME)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while data := stranger.recv(65536):
                said += data
    return said


def assert_closed(pids) -> None:
    """Everything listens for this machine only, and no stranger has anything deserialised."""
    found = listening(pids)
    assert set(found.values()) == {"127.0.0.1"}
    said = b""

    def is_refused() -> bool:
        nonlocal said
        said += b"".join(answer_to_a_stranger(port) for port in found)
        return b"Unknown challenge message" in said  # the driver's port and its blocks'

    eventually(is_refused, 60)  # a process that is stalled just now tells the next stranger
    assert b"ObjectInputStream" not in said


def assert_no_command_line_has(secret: str, pids) -> None:
    assert len(pids) > 1
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
