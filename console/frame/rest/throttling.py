"""Limits on how often one caller may ask: a bucket of requests that fills up again steadily."""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle


def caller_of(request: Request) -> str:
    """Return `token:7` for a service token, `user:12` for a person, else `address:...`."""
    token: Any = request.auth
    if getattr(token, "pk", None) is not None:
        return f"token:{token.pk}"
    if getattr(request.user, "pk", None) is not None:
        return f"user:{request.user.pk}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"


# A bucket of requests per caller, in memory that all web processes of a machine share.

# Who (a hash), how many requests are left, and when that was.
_SLOT = struct.Struct("<16sdd")
_SLOTS = 1 << 14
_BYTES = _SLOTS * _SLOT.size
# Slots that a caller may use; the least recently used one is replaced.
_NEAR = 16


class Buckets:
    """A bucket per caller: it holds a minute's worth of requests, and refills over a minute.

    In memory, so that a limit costs no query and works without Redis. With a `file`, every process that maps
    it counts together, over restarts; where it cannot be made, this process counts for itself. On several
    machines each one counts for itself.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, file: Path | None = None
    ) -> None:
        self._clock, self._file = clock, file
        self._lock = threading.Lock()
        self._memory: mmap.mmap | None = None
        self._descriptor: int | None = None
        self._process = 0

    def take(self, name: str, per_minute: int) -> float:
        """Take one request; return 0, or after how many seconds there will be one."""
        who = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()
        first = int.from_bytes(who[:4], "big") % (_SLOTS - _NEAR)
        now = self._clock()
        with self._held() as memory:
            near = [
                _SLOT.unpack_from(memory, (first + place) * _SLOT.size) for place in range(_NEAR)
            ]
            place = min(range(_NEAR), key=lambda one: _rank(near[one], who, now))
            known, level, at = near[place]
            # A later time is from before the machine was started again.
            if known != who or at > now:
                level, at = float(per_minute), now
            level = min(float(per_minute), level + (now - at) * per_minute / 60)
            wait_s = 0.0 if level >= 1 else (1 - level) * 60 / per_minute
            left = level if wait_s else level - 1
            _SLOT.pack_into(memory, (first + place) * _SLOT.size, who, left, now)
        return wait_s

    def clear(self) -> None:
        """Forget everybody."""
        with self._held() as memory:
            memory[:] = bytes(len(memory))

    @contextmanager
    def _held(self) -> Iterator[mmap.mmap]:
        with self._lock:
            memory = self._mapped()
            if self._descriptor is None:
                yield memory
                return
            # The kernel gives it back when a process dies in here.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield memory
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _mapped(self) -> mmap.mmap:
        """Return the memory; a forked process opens the file again, for its own lock."""
        if self._memory is None or self._process != os.getpid():
            self._process = os.getpid()
            self._descriptor = _open(self._file) if self._file is not None else None
            shared = -1 if self._descriptor is None else self._descriptor
            self._memory = mmap.mmap(shared, _BYTES)
        return self._memory


def _rank(slot: tuple[bytes, float, float], who: bytes, now: float) -> tuple[bool, float]:
    """Return what sorts the caller's own slot first, then those that rested longest."""
    known, _, at = slot
    return known != who, at if at <= now else 0.0


def _open(file: Path) -> int | None:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        # Written and not only sized: a page that the disk has no room for ends the process that touches it.
        if size < _BYTES and os.pwrite(descriptor, bytes(_BYTES - size), size) == _BYTES - size:
            size = _BYTES
    except OSError:
        size = 0
    if size < _BYTES:
        os.close(descriptor)
        return None
    return descriptor


BUCKETS = Buckets(file=Path(settings.CROSSLOG_HOME) / "rate-limits")


class RateLimit(BaseThrottle):
    """API_READS_PER_MIN and API_WRITES_PER_MIN for each person and each token; 0 is no limit."""

    def __init__(self) -> None:
        self._wait_s = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Say whether the caller has a request left."""
        is_read = request.method in SAFE_METHODS
        kind = "reads" if is_read else "writes"
        limit = settings.API_READS_PER_MIN if is_read else settings.API_WRITES_PER_MIN
        self._wait_s = BUCKETS.take(f"{kind} {caller_of(request)}", limit) if limit else 0.0
        return not self._wait_s

    def wait(self) -> float:
        """Return the whole seconds for `Retry-After`."""
        return math.ceil(self._wait_s)
