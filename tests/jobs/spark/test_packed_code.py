"""The code that executors of a cluster get works from its archive, without an installation."""

import os
import subprocess
import sys

from jobs.spark.submit import pack_code

MODULES = "jobs.spark.analyses.kinds, jobs.spark.analyses.records.running"


def test_packed_code_has_what_its_modules_read_also_at_a_relative_path(tmp_path):
    pack_code(tmp_path)
    code = f"import sys; sys.path.insert(0, 'jobs.zip'); import {MODULES}; print(jobs.__path__[0])"
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (ran.stdout.strip(), ran.stderr) == ("jobs.zip/jobs", "")
