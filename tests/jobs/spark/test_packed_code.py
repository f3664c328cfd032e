"""The code that executors of a cluster get works from its archive, without an installation."""

import os
import subprocess
import sys

from jobs.spark.submit import pack_code

MODULES = "jobs.spark.analyses.kinds, jobs.spark.analyses.records.reading, jobs.cluster.capabilities.needs"


def test_packed_code_has_what_its_modules_read(tmp_path):
    words = [sys.executable, "-c", f"import {MODULES}; print(jobs.__path__[0])"]
    environment = {**os.environ, "PYTHONPATH": str(pack_code(tmp_path))}
    ran = subprocess.run(
        words, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert (ran.stdout.strip(), ran.stderr) == (str(tmp_path / "jobs.zip" / "jobs"), "")
