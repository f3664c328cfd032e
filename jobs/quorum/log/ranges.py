"""A log as ranges of bytes that are read beside each other, and when they must be read again."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple


class Part(NamedTuple):
    """Bytes of a segment, by its number; `offset` is that of its first record."""

    segment: int
    begin: int
    end: int
    offset: int
    epoch_before: int | None


class LogRange(NamedTuple):
    """Bytes of segments in a row; `is_whole`: they hold offsets again that are in an earlier one."""

    parts: tuple[Part, ...]
    is_whole: bool

    @property
    def size_bytes(self) -> int:
        return sum(one.end - one.begin for one in self.parts)


class Dealt(NamedTuple):
    """What is known of a range behind it.

    `last_reset` is the last offset of a record that not all shares got and that ends the creation of a topic;
    `broken` are segments that must not be cut.
    """

    last_reset: int
    broken: tuple[int, ...]


def read_ranges(
    plan: Callable[[Container[int]], list[LogRange]],
    deal: Callable[[list[LogRange]], list[Dealt]],
) -> list[int]:
    """Let `deal` read all ranges of a log; return the `Dealt.last_reset` of each.

    `plan` gets the numbers of segments that must not be cut: those that turn out to be cut behind damage.
    """
    dealt = deal(plan(()))
    broken = {segment for one in dealt for segment in one.broken}
    if broken:
        dealt = deal(plan(broken))
    return [one.last_reset for one in dealt]
