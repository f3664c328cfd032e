import subprocess
import sys

import pytest

from jobs.spark import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="run on Linux: /proc is read")

LOOKS = 2_000
SHORT_LIVES = "while :; do (exec true); (exec true) & done"


def test_a_family_is_read_while_its_members_come_and_go():
    """The memory of a run is looked at each second: a worker that ends just then must not end the run."""
    with subprocess.Popen(["bash", "-c", SHORT_LIVES]) as parent:
        try:
            seen = set()
            for _ in range(LOOKS):
                seen.update(processes.children_of(parent.pid))
        finally:
            parent.kill()
    assert len(seen) > 1


def test_who_has_ended_has_no_children_and_no_memory():
    with subprocess.Popen(["true"]) as gone:
        pass
    assert processes.children_of(gone.pid) == []
    assert processes.resident_bytes([gone.pid]) == 0
