"""The supervisor of a run: how it ends a Spark that does not end by itself."""

import subprocess
import sys

from jobs.spark import contract, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome

# In place of Spark's own: a driver that has written its result, and a JVM that hangs.
HANGING = """#!/bin/sh
for folder; do :; done
echo '{"outcome": "SUCCEEDED", "error": null, "summary": {"answered": 1}}' > "$folder/result.json"
exec sleep 600
"""
SUPERVISOR = """
import sys
from pathlib import Path
from jobs.spark import contract
from jobs.spark.run_supervisor import RunSupervisor
folder = Path(sys.argv[1])
RunSupervisor(folder, contract.read_spec(folder), grace_s=0.5).supervise()
"""


def test_spark_that_hangs_after_its_result_is_ended_and_the_result_counts(tmp_path):
    bin_folder = tmp_path / "path" / "pyspark" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder.parent / "__init__.py").touch()
    (bin_folder / "spark-submit").write_text(HANGING)
    (bin_folder / "spark-submit").chmod(0o755)
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    contract.write_spec(run_dir, JobSpec("r", "replicate", {}))
    environment = submit.run_environment({"PYTHONPATH": str(tmp_path / "path")})
    subprocess.run(
        [sys.executable, "-c", SUPERVISOR, str(run_dir)], env=environment, check=True, timeout=300
    )
    assert contract.read_result(run_dir) == JobResult(Outcome.SUCCEEDED, summary={"answered": 1})
