"""What `make campaign` knows, and what the tests are marked with."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "bench" / "campaign.py"


def told(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAM, *words]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_every_test_that_is_left_to_a_campaign_has_one():
    known = {line.split()[0] for line in told().stdout.splitlines()}
    marked = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r'mark\.campaign\("([^"]+)"\)', path.read_text("utf-8"))
    }
    assert marked
    assert marked <= known


def test_every_benchmark_of_a_campaign_exists():
    asked = re.findall(r'benchmark="([^"]+)"', PROGRAM.read_text("utf-8"))
    command = [sys.executable, PROGRAM.with_name("run.py"), *asked, "no-benchmark"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert told.stderr.strip().endswith("there is no benchmark no-benchmark")


def test_a_campaign_that_does_not_exist_is_refused_by_its_name():
    refused = told("choas")
    assert refused.returncode == 2
    assert "there is no campaign choas" in refused.stderr
