"""What compiled loops share: bytes at addresses, CRC-32C by the processor, numbers of variable length.

Functions of addresses take those of the first byte and of the end, and compare before they read. Loops may
stand in several files: compiled code is kept as long as no file of its folder or of this one changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import binding, ir  # type: ignore[import-untyped] # it has no types
from numba.core import cgutils
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
Pair = tuple[int, int]

# Whether compiled code can use the processor's own CRC-32C; elsewhere the library's is called per batch.
HAS_CRC = bool(binding.get_host_cpu_features().get("sse4.2"))
# A position behind every end, so far from overflow that lengths may still be added to it.
BEYOND = 1 << 62
MORE = 0x80
LOW_32 = 0xFFFFFFFF
_WORD_BITS = 64
_LOW_63 = (1 << 63) - 1


def compiled(function: F) -> F:
    """Compile at the first call; in every process again where no cache folder can be written."""
    made: Any
    try:
        made = numba.njit(function, nogil=True, cache=True)
    except RuntimeError:
        made = numba.njit(function, nogil=True)
    else:
        folders = {Path(__file__).parent, _room(Path(function.__code__.co_filename))}
        # numba looks at the function's own file only, and would keep what another one put into it.
        made._cache._cache_file._source_stamp = tuple(map(_stamp, sorted(folders)))  # noqa: SLF001
    return made  # type: ignore[no-any-return] # it is called like the function itself


def _room(source: Path) -> Path:
    """Return the folder right under jobs/ that a source file is in, however deep; else its own folder."""
    jobs = Path(__file__).parent.parent
    return (
        jobs / source.relative_to(jobs).parts[0] if source.is_relative_to(jobs) else source.parent
    )


@cache
def _stamp(folder: Path) -> tuple[int, int]:
    """Return what changes when a source file below a folder does: the latest time, and the bytes of all."""
    found = [path.stat() for path in folder.rglob("*.py")]
    return max((one.st_mtime_ns for one in found), default=0), sum(one.st_size for one in found)


def inlined(function: F) -> F:
    """Let compiled functions take in the code of this one; a call for each byte costs 5 times as much."""
    made: Any = numba.njit(function, forceinline=True)
    return made  # type: ignore[no-any-return] # as above


def _loading(_context: Any, place: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        byte = builder.load(builder.inttoptr(values[0], ir.IntType(8).as_pointer()))
        return builder.zext(byte, ir.IntType(64))

    return numba.int64(place), generate


def _storing(_context: Any, place: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        target = builder.inttoptr(values[0], ir.IntType(8).as_pointer())
        builder.store(builder.trunc(values[1], ir.IntType(8)), target)
        return context.get_dummy_value()

    return numba.void(place, byte), generate


def _copying(_context: Any, to: Any, place: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        target, source = (
            builder.inttoptr(value, ir.IntType(8).as_pointer()) for value in values[:2]
        )
        cgutils.raw_memcpy(builder, target, source, values[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return numba.void(to, place, size), generate


def _getting(bits: int) -> Any:
    """Make what reads a signed integer of the machine's own order."""

    def get(_context: Any, place: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            found = builder.load(builder.inttoptr(values[0], ir.IntType(bits).as_pointer()))
            return builder.sext(found, ir.IntType(64)) if bits < _WORD_BITS else found

        return numba.int64(place), generate

    return get


def _putting(bits: int) -> Any:
    """Make what writes the low bits of an integer in the machine's own order."""

    def put(_context: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            form = ir.IntType(bits)
            target = builder.inttoptr(values[0], form.as_pointer())
            low = builder.trunc(values[1], form) if bits < _WORD_BITS else values[1]
            builder.store(low, target)
            return context.get_dummy_value()

        return numba.void(place, value), generate

    return put


def _reading(bits: int) -> Any:
    """Make what reads a signed integer with its highest byte first, at any address."""

    def read(_context: Any, place: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            form = ir.IntType(bits)
            found = builder.load(builder.inttoptr(values[0], form.as_pointer()))
            found.align = 1
            turned = builder.bswap(found)
            return builder.sext(turned, ir.IntType(64)) if bits < _WORD_BITS else turned

        return numba.int64(place), generate

    return read


def _crc_of_8(_context: Any, crc: Any, place: Any) -> Any:
    """Feed 8 bytes to the processor's CRC-32C instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        eight = builder.load(builder.inttoptr(values[1], word.as_pointer()))
        eight.align = 1
        form = ir.FunctionType(word, [word, word])
        step = builder.module.declare_intrinsic("llvm.x86.sse42.crc32.64.64", (), form)
        return builder.call(step, [values[0], eight])

    return numba.int64(crc, place), generate


def _crc_of_1(_context: Any, crc: Any, byte: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        half, byte = ir.IntType(32), ir.IntType(8)
        form = ir.FunctionType(half, [half, byte])
        step = builder.module.declare_intrinsic("llvm.x86.sse42.crc32.32.8", (), form)
        fed = [builder.trunc(values[0], half), builder.trunc(values[1], byte)]
        return builder.zext(builder.call(step, fed), ir.IntType(64))

    return numba.int64(crc, byte), generate


# Compiled code works with addresses, as arrays would be reference counted at every call. Who calls a kernel
# holds the arrays meanwhile, and every address is compared with an end before it is read.
load: Any = intrinsic(_loading)
store: Any = intrinsic(_storing)
copy: Any = intrinsic(_copying)
get_32: Any = intrinsic(_getting(32))
get_64: Any = intrinsic(_getting(64))
put_8: Any = intrinsic(_putting(8))
put_32: Any = intrinsic(_putting(32))
put_64: Any = intrinsic(_putting(64))
int_32: Any = intrinsic(_reading(32))
int_64: Any = intrinsic(_reading(64))
_feed_8: Any = intrinsic(_crc_of_8)
_feed_1: Any = intrinsic(_crc_of_1)


def _processors_crc(at: int, end: int) -> int:
    crc = LOW_32
    while at + 8 <= end:
        crc = _feed_8(crc, at)
        at += 8
    while at < end:
        crc = _feed_1(crc, load(at))
        at += 1
    return crc ^ LOW_32


def _stored_crc(at: int, _end: int) -> int:
    """Agree with every batch; who asks must then ask the library as well."""
    return integer(at - 4, 4) & LOW_32


@inlined
def integer(at: int, size: int) -> int:
    """Return the signed integer of so many bytes, the highest first."""
    value: int = load(at)
    value -= (value & 128) << 1
    for index in range(1, size):
        value = value << 8 | load(at + index)
    return value


crc_32c = inlined(_processors_crc if HAS_CRC else _stored_crc)


@inlined
def varint(at: int, end: int) -> Pair:
    """Return an INT32 and where it ends; 0 and a place behind every end when there is none."""
    raw, after = short(at, end)
    if after < 0:
        raw, after = raw_varint(at, end, 5)
        raw &= LOW_32
    return raw >> 1 ^ -(raw & 1), after


@inlined
def varlong(at: int, end: int) -> Pair:
    """Return an INT64 and where it ends; 0 and a place behind every end when there is none."""
    raw, after = short(at, end)
    if after < 0:
        raw, after = raw_varint(at, end, 10)
    return raw >> 1 & _LOW_63 ^ -(raw & 1), after


@inlined
def short(at: int, end: int) -> Pair:
    """Read one or two bytes, as nearly all are; -1 for an end that is not found there."""
    if at >= end:
        return 0, BEYOND
    low = load(at)
    if low < MORE:
        return low, at + 1
    if at + 1 >= end:
        return 0, BEYOND
    high = load(at + 1)
    return low & 127 | high << 7, at + 2 if high < MORE else -1


@compiled
def raw_varint(at: int, end: int, longest: int) -> Pair:
    """Return the bits of a number of at most so many bytes and where it ends, as `varint` does."""
    raw = 0
    for index in range(longest):
        if at + index >= end:
            break
        byte = load(at + index)
        raw |= (byte & 127) << 7 * index
        if byte < MORE:
            return raw, at + index + 1
    return 0, BEYOND
