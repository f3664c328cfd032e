"""Lists of offsets that claim or hold more than a list does, of a few bytes or of 16 MB."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MB = 1 << 20
# Of a row group: too few for other numbers of the footer to be the same.
ROWS = 1_777
# pyarrow ends the process that opens it: its footer has a histogram of a wrong length.
ABORTS = Path(__file__).parent / "aborts.parquet"


def claims_rows(path: Path, claimed: int) -> None:
    """Write rows whose row group, columns and file claim another number of them."""
    offsets = np.random.default_rng(1).integers(0, 1 << 40, ROWS)
    columns = {"topic": ["orders"] * ROWS, "partition": np.zeros(ROWS, np.int32), "offset": offsets}
    pq.write_table(pa.table(columns), path)
    raw = path.read_bytes()
    (size,) = struct.unpack("<I", raw[-8:-4])
    footer = raw[-8 - size : -8].replace(_zigzag(ROWS), _zigzag(claimed))
    path.write_bytes(raw[: -8 - size] + footer + struct.pack("<I", len(footer)) + b"PAR1")


def long_texts(path: Path, rows: int, texts: list[str]) -> None:
    """Write rows whose topics are a dictionary of long texts: small on disk."""
    topics = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(rows) % len(texts), pa.int32()), pa.array(texts)
    )
    zeros = np.zeros(rows, np.int64)
    pq.write_table(
        pa.table({"topic": topics, "partition": zeros, "offset": zeros}),
        path,
        compression="zstd",
        store_schema=False,
        write_statistics=False,
        dictionary_pagesize_limit=1 << 31,
        row_group_size=rows,
    )


def text(path: Path, content: bytes) -> None:
    """Write a line again and again, 16 MB of it."""
    path.write_bytes(content * (16 * MB // len(content)))


def good_then(path: Path, content: bytes) -> None:
    """Write 10,000 good rows, and then 16 MB of something else."""
    good = b"".join(b"orders,0,%d\n" % number for number in range(10_000))
    path.write_bytes(good + content * (16 * MB // len(content)))


def row_groups(path: Path) -> None:
    """Write many row groups of one row each."""
    row = pa.table({"topic": ["orders"], "partition": [0], "offset": [1]})
    with pq.ParquetWriter(path, row.schema) as writer:
        for _ in range(1_200):
            writer.write_table(row)


# By name: how it is written, and what is said of it.
HOSTILE = {
    "2^60 rows are claimed": (
        lambda path: claims_rows(path, 1 << 60),
        "claims 1,152,921,504,606,846,976 rows",
    ),
    "more rows than there are": (
        lambda path: claims_rows(path, 40_000_000),
        "more rows than there are in it",
    ),
    "fewer than none": (lambda path: claims_rows(path, -5), "claims -5 rows"),
    "one long text in each row": (
        lambda path: long_texts(path, 20_000, ["x" * 200_000]),
        "topic has more than 249 characters",
    ),
    "texts that fill all that rows may hold": (
        lambda path: long_texts(path, 5_000, ["x" * (9 * MB)]),
        "values are too long",
    ),
    "a dictionary larger than the bound of memory": (
        lambda path: long_texts(path, 500_000, [f"{one}{'x' * MB}" for one in range(450)]),
        "takes more than 384",
    ),
    "row groups of one row": (row_groups, "1,200 row groups"),
    "a line of one letter": (lambda path: text(path, b"x\n"), "1,000 of its first 10,000 rows"),
    "empty lines": (lambda path: text(path, b"\n"), "nothing in it"),
    "quotes that stay open": (lambda path: text(path, b'"a\n'), "1,000 of its first 10,000 rows"),
    "topics that are too long": (
        lambda path: text(path, b"y" * 1_600 + b",0,1\n"),
        "topic has more than 249 characters",
    ),
    "one long line": (lambda path: good_then(path, b","), "longer than 1 MB"),
    "bad rows behind good ones": (lambda path: good_then(path, b"x\n"), "100,000 of its rows"),
    "quotes behind good rows": (lambda path: good_then(path, b'"a\n'), "100,000 of its rows"),
}


def _zigzag(number: int) -> bytes:
    """Return a number as Thrift's compact protocol writes it."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])
