"""Suggestions for misspelled names: `isrs` for `isr`, `minInsyncReplica` for `min.insync.replicas`."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from functools import lru_cache

_CLOSE = 0.8


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """Return a name without capitals, `_`, `-`, `.` and blanks."""
    return "".join(letter for letter in name.lower() if letter not in "_-. ")


def near_name(name: str, known: Iterable[str], others: Collection[str] = ()) -> str | None:
    """Return the known name that was probably meant; None for a known name, and for one unlike all of them.

    Compared as `plain_name` has them. `others`: plain names that are near by chance (`leaderepoch`).
    """
    plain = plain_name(name)
    by_plain = {plain_name(one): one for one in known}
    if plain in by_plain or plain in others:
        return None
    close = difflib.get_close_matches(plain, by_plain, 1, _CLOSE)
    return by_plain[close[0]] if close else None
