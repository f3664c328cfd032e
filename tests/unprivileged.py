"""Rights that root does not have for a while: the mode of a file holds for it as for its owner."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

import pytest

_DAC_OVERRIDE, _DAC_READ_SEARCH = 1 << 1, 1 << 2  # capabilities of Linux
_REFUSED = "root reads every file here: run the tests as another user"
_VERSION_3 = 0x20080522  # of capget: twice 32 bits of effective, permitted, inheritable


@contextlib.contextmanager
def without_roots_access() -> Iterator[None]:
    """Let this thread read and write only what the modes of files allow their owner.

    A program that the thread starts as root has all rights again.
    """
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip(_REFUSED)
    libc = ctypes.CDLL(None)
    header, rights = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    fewer = type(rights)(*rights)
    fewer[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)
    if libc.capset(header, fewer) != 0:  # what starts containers may forbid the call
        pytest.skip(_REFUSED)
    try:
        yield
    finally:
        assert libc.capset(header, rights) == 0
