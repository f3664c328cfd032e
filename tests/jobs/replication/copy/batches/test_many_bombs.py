"""Batches that are small when they come and large when expanded, one behind the other in one answer."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[5]
# Eight batches of 100 MB each would be 0.8 GB, three times over where all are opened at once.
BATCHES, RECORD_BYTES, MOST_MB = 8, 100_000_000, 1100
COPYING = f"""
from jobs.replication.copy.batches.filter import BatchFilter
from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch
codec = Codec[sys.argv[1]]
one = encode_batch([PlacedRecord(0, 0, None, bytes({RECORD_BYTES}))], codec=codec)
batches = [at.to_bytes(8, "big") + one[8:] for at in range({BATCHES})]
batch_filter = BatchFilter(1 << 30, small_bytes=dict.fromkeys(Codec, 1 << 30))
found = batch_filter.filter(memoryview(b"".join(batches)), 0)
assert found.problem is None, found.problem
assert [found.batches[0].offset_of(0), found.next_offset] == [0, {BATCHES}], found.next_offset
assert sum(one.record_count for one in found.batches) == {BATCHES}
"""
SYNCS = """
from jobs.wire.topics.offset_syncs import decode_compiled
from jobs.wire.batches.record_batch import Codec, whole_header
from jobs.wire.batches.records import PlacedRecord, encode_batch
codec = Codec[sys.argv[1]]
one = encode_batch([PlacedRecord(0, 0, None, bytes(30_000_000))], codec=codec)
batches = [memoryview(at.to_bytes(8, "big") + one[8:]) for at in range(50)]
found = decode_compiled([(whole_header(each), each) for each in batches])
assert found.refused.total() == 50, found.refused
"""


@pytest.mark.parametrize("codec", ["SNAPPY", "ZSTD"])
@pytest.mark.parametrize("program", [COPYING, SYNCS], ids=["copying", "syncs"])
def test_bombs_one_behind_the_other_are_not_opened_at_once(program, codec):
    # `ru_maxrss` of a child begins with what its parent, a worker that ran other tests, had at most.
    measure = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\n{measure}", codec],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) // 1024 < MOST_MB
