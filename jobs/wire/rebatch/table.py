"""What the compiled and the plain form of re-batching share: a row per source batch, and a cursor.

Numbers instead of names, because compiled code sees arrays of integers and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
# Bytes of records or batches, one behind the other.
Content = bytes | memoryview
Int64s = npt.NDArray[np.int64]

# Columns of the table: one source batch each. START and END bound its records in the buffer.
START = 0
END = 1
COUNT = 2
BASE_OFFSET = 3
LAST_OFFSET = 4
BASE_TIMESTAMP = 5
MAX_TIMESTAMP = 6
LOG_APPEND_TIME = 7  # 1: every record has MAX_TIMESTAMP
CODEC = 8
COLUMNS = 9

# Fields of the cursor: the next record is in the batch of ROW, at byte AT of the buffer (-1: at its START);
# SEEN records of that batch are behind, and the last record had the offset PREVIOUS (-1: there was none).
ROW = 0
AT = 1
SEEN = 2
PREVIOUS = 3
CURSOR_START = (0, -1, 0, -1)

# A commit marker from behind the length and the attributes of its record on: both deltas, the length of the
# key, the key's version (any) and its type. Source: ControlRecordType.
COMMIT_AT = 63
COMMIT = (0, 0, 8, 0, 0, 0, 1)
VERSION_FROM, VERSION_TO = 3, 5

# Records are hashed in words of 8 bytes, the highest first: xor, multiply, fold. Signed, as arrays have them.
HASH_SEED = 0x1B873593CC9E2D51
HASH_FACTOR = -7046029254386353131


class Cut(NamedTuple):
    """What one call of `cut` wrote: `record_count` records in `size_bytes`; times in ms since 1970."""

    record_count: int
    size_bytes: int
    first_timestamp: int
    max_timestamp: int
    key_value_bytes: int


class Kernels(Protocol):
    """The loops: `jobs.wire.rebatch.compiled`, and the oracle of the tests."""

    def alike(
        self, content: Content, mask: int, before: int, small_bytes: int, lengths: Int64s
    ) -> int:
        """Note how long the whole batches are that follow the first one and are like it; return how many.

        They have its attributes under the mask, its leader epoch, records, rising offsets below `before`, and
        are smaller than `small_bytes`. Commit markers between them are to be passed over: a negative length.
        The first batch is whole, and `lengths` has room for all that may follow.
        """

    def scan(self, buffer: Content, lengths: Int64s, table: Int64s) -> None:
        """Fill a row for each batch, of the length given; raises a `BatchError` for the first bad one.

        A negative length is that of bytes to be passed over.
        """

    def cut(  # noqa: PLR0913, PLR0917 - arrays in and out are all that compiled code knows
        self,
        body: Content,
        table: Int64s,
        cursor: Int64s,
        from_offset: int,
        room_bytes: int,
        out: Bytes,
        offsets: Int64s,
    ) -> Cut:
        """Write the next records to the start of `out`, as many as the room allows and at least one.

        Moves the cursor behind them and notes their offsets. Records below `from_offset` are passed over;
        a cut without records means that there are no more. Raises `Damaged` for malformed records.
        """
