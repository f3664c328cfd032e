"""Uploaded lists: which are none, and that parts hold each row once."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.offsets.bulk import question_files
from jobs.spark.analyses.offsets.bulk.question_files import parts_of

GROUPS = ["g", None, "g", "h"]
TOPICS = ["orders", "orders", "", "t"]


def read(path):
    found = [read for part in parts_of(path) for read in part.read()]
    tables = (pa.concat_tables(side) for side in zip(*found, strict=True))
    return [table.to_pylist() for table in tables]


def refusal(path):
    with pytest.raises(InvalidFields) as refused:
        parts_of(path)
    return refused.value.errors["offsets"]


def test_a_long_list_is_read_in_parts_whose_lines_continue(tmp_path):
    path, count = tmp_path / "long.csv", 700_000
    path.write_text("\ufefftopic;partition;offset\r\n" + "orders;1;7\r\n" * count, encoding="utf-8")
    parts = parts_of(path, tasks=3)
    assert len(parts) == 3
    lines = pa.concat_tables([read.questions for part in parts for read in part.read()])["line"]
    assert lines.combine_chunks().equals(pa.array(range(2, count + 2), pa.int64()))


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.uint64(), pa.int64()], ids=["int32", "uint64", "int64"]
)
def test_parquet_has_its_rows_named_by_their_number(tmp_path, kind):
    highest = 2**63 if kind == pa.uint64() else 4
    table = pa.table(
        {
            "note": [1.5] * 4,
            "offset": pa.array([1, None, 3, highest], kind),
            "topic": pa.array(TOPICS).dictionary_encode(),
            "partition": pa.array([0, 1, 2, 3], pa.int16()),
            "group": GROUPS,
        }
    )
    pq.write_table(table, tmp_path / "offsets", row_group_size=2)
    questions, refused = read(tmp_path / "offsets")
    assert [row["line"] for row in questions] == ([1] if kind == pa.uint64() else [1, 4])
    assert questions[0] == {"line": 1, "group": "g", "topic": "orders", "partition": 0, "offset": 1}
    assert [row["reason"] for row in refused][:2] == ["It has no offset.", "It names no topic."]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        pytest.param({"topic": ["t"], "partition": [1]}, "no column offset", id="column missing"),
        pytest.param(
            {"topic": ["t"], "partition": [1], "offset": [1.0]},
            "offset is of the type double",
            id="no whole numbers",
        ),
        pytest.param(
            {"topic": ["t"], "partition": [1], "offset": [Decimal(1)]}, "decimal", id="decimals"
        ),
        pytest.param(
            {"topic": [1], "partition": [1], "offset": [1]}, "text is needed", id="topic no text"
        ),
    ],
)
def test_parquet_with_other_columns_is_refused_with_what_is_needed(tmp_path, columns, words):
    pq.write_table(pa.table(columns), tmp_path / "offsets")
    assert words in refusal(tmp_path / "offsets")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "nothing in it", id="empty"),
        pytest.param(b"PAR1 and no more", "cannot be read", id="cut Parquet"),
        pytest.param(b"\x1f\x8b\x00", "neither text nor Parquet", id="zipped"),
        pytest.param(b"a" * (question_files.FEWEST_BYTES + 1), "no line of a table", id="one line"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path, content, words):
    (tmp_path / "offsets").write_bytes(content)
    assert words in refusal(tmp_path / "offsets")


def test_a_file_that_is_gone_is_told(tmp_path):
    assert "cannot be read" in refusal(tmp_path / "offsets")


def test_what_is_no_utf8_is_refused_by_its_line_or_answered(tmp_path):
    (tmp_path / "offsets").write_bytes(b"orders,0,1\norders,\xff,1\norders,0,2")
    questions, refused = read(tmp_path / "offsets")
    assert [row["line"] for row in questions] == [1, 3]
    assert refused[0]["line"] == 2
