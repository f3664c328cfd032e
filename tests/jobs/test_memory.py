"""Bounds of memory that the kernel keeps."""

import resource
import subprocess
import sys

import pytest

from jobs.memory import bounded_memory

LIMITED = """
from jobs.memory import limit_memory
limit_memory(400 << 20)
try:
    bytearray(500 << 20)
except MemoryError:
    print("refused", len(bytearray(50 << 20)))
"""


def test_a_block_gets_so_much_more_memory_and_what_follows_is_not_bound():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(MemoryError), bounded_memory(64 << 20):
        bytearray(1 << 40)
    with bounded_memory(64 << 20):
        bytearray(8 << 20)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_a_process_that_is_limited_goes_on_after_it_asked_for_more():
    told = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["refused", str(50 << 20)]
