"""The driver of a run: what it leaves behind when its job breaks."""

import subprocess
import sys

from jobs.spark import contract
from jobs.spark.contract import JobSpec, Outcome

# The job breaks for want of its arguments. A parent that ends then is like a JVM that was killed.
DRIVER = "import sys; from jobs.spark.application import main; sys.exit(main(sys.argv[1]))"
PARENT = """
import os, subprocess, sys
driver = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], stderr=subprocess.PIPE)
for line in driver.stderr:
    if b"job broke" in line:
        os._exit(0)
"""


def broken(tmp_path):
    contract.write_spec(tmp_path, JobSpec("r", "replicate", {}))
    return tmp_path


def test_a_job_that_breaks_leaves_what_broke(tmp_path):
    command = [sys.executable, "-c", DRIVER, str(broken(tmp_path))]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 1
    found = contract.read_result(tmp_path)
    assert (found.outcome, found.error) == (Outcome.CRASHED, "KeyError: 'flow'")


def test_a_job_that_breaks_because_its_jvm_ended_leaves_the_result_to_the_supervisor(tmp_path):
    command = [sys.executable, "-c", PARENT, DRIVER, str(broken(tmp_path))]
    # The driver holds the standard output, so this returns when it has ended, too.
    subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert contract.read_result(tmp_path) is None
