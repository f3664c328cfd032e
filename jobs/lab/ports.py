"""Ports of this machine: free, or taken by whom."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TextIO

from jobs.lab.errors import PortTaken
from jobs.lab.plan import BLOCK, HOST, ClusterPlan

_LISTEN = "0A"  # the state in /proc/net/tcp
_LOWEST, _HIGHEST = 20_000, 32_000  # below the ports that Linux gives to outgoing connections
_MOST_CLAIMS = 16
_claims: deque[list[TextIO]] = deque()


def check_free(ports: Collection[int], *, option: str = "--base-port") -> None:
    """Raise `PortTaken` naming the program behind the first port that is not free."""
    for port in ports:
        if not is_free(port):
            raise PortTaken(
                f"Port {port} on {HOST} is taken by {owner_of(port)}: choose another with {option}, "
                "or end that program."
            )


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket() as listener:
        # As Java does: connections of an ended server in TIME_WAIT are no obstacle.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
        return True


def find_base_port(make_plans: Callable[[int], Sequence[ClusterPlan]]) -> int:
    """Return a base port for which every port of the plans is free; raises `PortTaken`."""
    tried = list(range(_LOWEST, _HIGHEST, BLOCK))
    random.shuffle(tried)
    for base_port in tried:
        ports = [port for plan in make_plans(base_port) for port in plan.ports()]
        if all(map(is_free, ports)) and _claim({port // BLOCK for port in ports}):
            return base_port
    raise PortTaken(f"No free block of ports between {_LOWEST} and {_HIGHEST}.")


def _claim(blocks: Collection[int]) -> bool:
    """Keep others from finding these blocks of ports, too, before the nodes listen; False: somebody has one.

    A claim ends with the process, or when it has made `_MOST_CLAIMS` newer ones: by then its nodes listen.
    """
    folder = Path(tempfile.gettempdir()) / f"crosslog-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    files: list[TextIO] = [(folder / str(block)).open("a") for block in sorted(blocks)]
    try:
        for file in files:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        for file in files:
            file.close()
        return False
    _claims.append(files)
    for file in _claims.popleft() if len(_claims) > _MOST_CLAIMS else ():
        file.close()
    return True


def owner_of(port: int) -> str:
    """Return who listens on a port, as text; `another program` where that cannot be seen."""
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        words = _command_of(process) if _opens(process, wanted) else []
        if words:
            return f"process {process.name} ({Path(words[0]).name} ... {words[-1][-60:]})"
    return "another program"


def _listening_inodes(port: int) -> list[str]:
    inodes = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.exists():
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                inodes.append(columns[9])
    return inodes


def _command_of(process: Path) -> list[str]:
    """Return the words of its command line, none once it has ended."""
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
    return [word.decode(errors="replace") for word in arguments if word]


def _opens(process: Path, wanted: set[str]) -> bool:
    try:
        links = list((process / "fd").iterdir())
    except OSError:  # ended meanwhile, or of another user
        return False
    return any(_target_of(link) in wanted for link in links)


def _target_of(link: Path) -> str:
    """Return the file of a descriptor, nothing once it is closed: the listing's own is, always."""
    try:
        return str(link.readlink())
    except OSError:
        return ""
