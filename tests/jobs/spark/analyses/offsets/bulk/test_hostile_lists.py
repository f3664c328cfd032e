"""Lists that claim or hold too much: each is refused at its field, in bounded memory."""

import json
import resource
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.replication.translation.questions import FIRST_ROWS
from jobs.spark.analyses.offsets.bulk import answering
from jobs.spark.analyses.offsets.bulk.answering import AnswerPart, Asking, Tally, list_parts
from tests.jobs.spark.analyses.offsets.archives import flow, make_archive
from tests.jobs.spark.analyses.offsets.hostile_lists import HOSTILE

MOST_ROWS = 50_000_000
MOST_MEMORY = 700 << 20
MEASURED = """
import json, sys
from pathlib import Path
from tests.jobs.spark.analyses.offsets.bulk.test_hostile_lists import answered
folder = Path(sys.argv[1])
told = {name: answered(folder, folder / name).refusal for name in sys.argv[2:]}
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(json.dumps({"refusals": told, "peak": int(peak.split()[1]) * 1024}))
"""


def answered(folder, path) -> Tally:
    """Do what the tasks of an analysis do with a list."""
    listed = list_parts(path, 2, MOST_ROWS)
    tally = Tally(refusal=listed.refusal)
    for name in ("answers", "refused"):
        (folder / name).mkdir(exist_ok=True)
    work = AnswerPart(
        Asking(folder / "archive", flow()), listed.parts, folder / "answers", folder / "refused"
    )
    for number in range(len(listed.parts)):
        tally.add(work(number))
        if tally.refusal:
            break
    return tally


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("hostile")
    make_archive(found / "archive", {("orders", 0): [(100, 90), (200, 180)]})
    for name, (write, _) in HOSTILE.items():
        write(found / name)
    return found


@pytest.fixture(scope="module")
def read(folder):
    """What a process that reads all of them says of each, and the memory that it took at most."""
    command = [sys.executable, "-c", MEASURED, str(folder), *HOSTILE]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, (_, words) in HOSTILE.items()])
def test_a_list_that_holds_or_claims_too_much_is_refused(read, name, words):
    assert words in read["refusals"][name]


def test_no_list_takes_much_memory(read):
    assert read["peak"] < MOST_MEMORY


def test_the_bound_of_memory_ends_with_the_reading(folder):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    answered(folder, folder / "bad rows behind good ones")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_rows_that_are_refused_are_counted_and_the_first_are_kept(folder, tmp_path):
    good = "".join(f"orders,0,{number}\n" for number in range(FIRST_ROWS))
    (tmp_path / "list").write_text(good + "orders,0,-1\n" * 12_345)
    (tmp_path / "archive").symlink_to(folder / "archive")
    tally = answered(tmp_path, tmp_path / "list")
    [kept] = [pq.read_table(one) for one in (tmp_path / "refused").iterdir()]
    assert (tally.refusal, tally.counts["refused"], len(kept)) == ("", 12_345, 10_000)
    assert kept["line"][0].as_py() == FIRST_ROWS + 1


def test_partitions_without_an_offset_sync_are_told_apart_up_to_a_bound(folder, tmp_path):
    rows = answering.MOST_UNKNOWN + 500
    (tmp_path / "list").write_text("".join(f"t{number},0,1\n" for number in range(rows)))
    (tmp_path / "archive").symlink_to(folder / "archive")
    tally = answered(tmp_path, tmp_path / "list")
    assert tally.counts["questions"] == rows
    assert len(tally.unknown) == answering.MOST_UNKNOWN


def test_small_row_groups_are_read_together(folder, tmp_path):
    table = pa.table({"topic": ["orders"] * 600, "partition": [0] * 600, "offset": range(600)})
    pq.write_table(table, tmp_path / "list", row_group_size=2)
    (tmp_path / "archive").symlink_to(folder / "archive")
    assert len(list_parts(tmp_path / "list", 2, MOST_ROWS).parts) == 1
    assert answered(tmp_path, tmp_path / "list").counts["questions"] == 600


def test_more_rows_than_the_setting_allows_are_refused(folder, tmp_path):
    (tmp_path / "list").write_text("orders,0,1\n" * 11)
    pq.write_table(
        pa.table({"topic": ["orders"] * 11, "partition": [0] * 11, "offset": range(11)}),
        tmp_path / "parquet",
    )
    for name in ("list", "parquet"):
        assert "at most 10" in list_parts(tmp_path / name, 2, most_rows=10).refusal


def test_what_is_no_utf8_in_parquet_is_read_with_signs_that_stand_for_it(folder, tmp_path):
    topics = pa.array([b"\xff\xfe", b"orders"]).view(pa.binary()).view(pa.string())
    pq.write_table(
        pa.table({"topic": topics, "partition": [0, 0], "offset": [1, 100]}), tmp_path / "list"
    )
    (tmp_path / "archive").symlink_to(folder / "archive")
    assert answered(tmp_path, tmp_path / "list").counts["questions"] == 2
