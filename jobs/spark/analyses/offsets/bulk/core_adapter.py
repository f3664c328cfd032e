"""What the core of translation does not offer yet, with loops: to be removed as soon as it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.replication.offset_sync_store import TOO_OLD
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.translation.bulk import Answers
from jobs.replication.translation.sync_history import Why
from jobs.replication.translation.translator import Translator

Int64s = npt.NDArray[np.int64]
NO_SYNC = -2
_WHY = {why.text: why for why in Why}


def open_at(folder: Path, as_of_ms: int | None) -> Translator:
    """Return what an archive had to say at a time; None: all of it."""
    if as_of_ms is not None:
        raise InvalidFields(
            {"at": "The archive does not know yet when its offset syncs were written."}
        )
    return open_translator(folder)


def count_untimed(_folder: Path) -> int:
    """Return how many syncs of an archive have no time."""
    return 0


def reverse_many(
    translator: Translator, wheres: Sequence[TopicPartition], offsets: Int64s, which: Int64s
) -> Answers:
    """Answer many questions about the way back."""
    found = Answers.none(len(offsets))
    for place, (number, offset) in enumerate(zip(which.tolist(), offsets.tolist(), strict=True)):
        one = translator.reverse(wheres[number], offset)
        if one is not None:
            found.lo[place], found.hi[place] = one.lo, -1 if one.hi is None else one.hi
            found.why[place] = _WHY[one.reason]
    return found


def mm2_many(
    translator: Any, wheres: Sequence[TopicPartition], offsets: Int64s, which: Int64s
) -> Int64s:
    """Return MirrorMaker 2's own answers: -1 too old, -2 no sync."""
    found = np.full(len(offsets), NO_SYNC, np.int64)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(wheres) + 1))
    for number, where in enumerate(wheres):
        places = order[ends[number] : ends[number + 1]]
        if translator.mm2(where, 0) is None:
            continue
        kept = np.array(translator._store(where).syncs[::-1], np.int64)  # noqa: SLF001  until it offers this
        at = np.searchsorted(kept[:, 0], offsets[places], side="right") - 1
        told = kept[at, 1] + (offsets[places] > kept[at, 0])
        found[places] = np.where(at < 0, TOO_OLD, told)
    return found
