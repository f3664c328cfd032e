#!/usr/bin/env python3
"""Run what is long by nature: `bench/campaign.py NAME... [--seed N] [--duration-s S] [--flows N]`.

Every campaign runs alone, by seed, for a time, and leaves one JSON file under `bench/results/`. A campaign of
tests repeats them with the next seed until its time is over, at least once; a round that has begun runs to
its end. The exit code is 1 when anything failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reporting

HERE = Path(__file__).parent
ROOT = HERE.parent


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is run; `duration_s` is for how long by default, 0: once.

    `tests` are arguments for pytest, `benchmark` is a name of `bench/run.py`: one of both. `takes_time`: its
    tests get the whole duration and are run once. `of_flows`: what is run instead where flows are given.
    """

    about: str
    tests: Sequence[str] = ()
    benchmark: str = ""
    duration_s: float = 0.0
    takes_time: bool = False
    of_flows: Sequence[str] = ()
    settings: dict[str, str] = field(default_factory=dict)


MARKED = "--marked-only"
MANY = {"CROSSLOG_EXAMPLES": "20"}
PROPERTIES = ("-m", "hypothesis", "-n", "2")
CAMPAIGNS = {
    "chaos": Campaign(
        "everything breaks at random while records flow; in the end both sides hold the same",
        tests=["tests/live/batches/test_chaos.py"],
        duration_s=900,
        takes_time=True,
        of_flows=["tests/live/spark/test_chaos_of_flows.py"],
    ),
    "access": Campaign(
        "everybody asks every address by every method",
        tests=["tests/live/safety", "-n", "2"],
    ),
    "demo-hours": Campaign(
        "the demo while brokers are killed, every checkpoint judged by the records",
        benchmark="demo-hours",
        duration_s=1800,
    ),
    "drills": Campaign(
        "sites, voters and what promotes a standby are lost",
        tests=["tests/live/availability", MARKED],
    ),
    "faults": Campaign(
        "consoles, keepers, demos, workers of Spark and brokers are killed or hang, and logs are cut",
        tests=["tests/live", MARKED],
    ),
    "fuzz": Campaign(
        "decoders of the wire formats read random bytes",
        tests=["tests/jobs/wire", "tests/jobs/cluster/protocol", *PROPERTIES],
        duration_s=900,
        settings=MANY,
    ),
    "hostile": Campaign("hostile requests", benchmark="hostile"),
    "migrations": Campaign(
        "databases of every release are opened, and a new one goes back to the newest release",
        tests=["tests/console/test_migrations.py", MARKED],
    ),
    "mirror-maker": Campaign(
        "a real MirrorMaker 2 beside crosslog, and in its demo",
        tests=["tests/live/mirror_maker", "tests/live/demo"],
    ),
    "postgresql": Campaign(
        "the tests of the rooms that keep state, on PostgreSQL",
        tests=["tests/test_postgresql.py", MARKED],
    ),
    "properties": Campaign(
        "every property with many examples",
        tests=["tests", *PROPERTIES],
        duration_s=1200,
        settings=MANY,
    ),
    "soak": Campaign(
        "checkpoints of a topic that is written without a pause, and an hour of the answer on the flow",
        tests=[
            "tests/live/replication/test_checkpoints_while_written.py",
            "tests/console/replication/checkpoints/rounds/test_steady.py",
        ],
        duration_s=1200,
        takes_time=True,
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help="none: say which there are", metavar="NAME")
    parser.add_argument("--seed", type=int, default=1, help="of what is done at random (1)")
    parser.add_argument("--duration-s", type=float, help="of each; default: at most 2400")
    parser.add_argument("--flows", type=int, help="of `chaos`: so many flows in one engine")
    options = parser.parse_args()
    if unknown := set(options.name) - set(CAMPAIGNS):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}")
    if not options.name:
        print("\n".join(f"{name:14}{one.about}" for name, one in CAMPAIGNS.items()))
        return 0
    if options.flows and any(not CAMPAIGNS[name].of_flows for name in options.name):
        parser.error("--flows is for `chaos`")
    if options.flows:
        os.environ["CROSSLOG_CAMPAIGN_FLOWS"] = str(options.flows)
    return max([run(name, options.seed, options.duration_s) for name in options.name])


def run(name: str, seed: int, duration_s: float | None) -> int:
    """Run one campaign and write its result; return 1 when anything failed."""
    campaign = CAMPAIGNS[name]
    duration_s = campaign.duration_s if duration_s is None else duration_s
    reporting.say(f"{name}: {campaign.about}; seed {seed}")
    if campaign.benchmark:
        words = [sys.executable, HERE / "run.py", campaign.benchmark, "--seed", str(seed)]
        return subprocess.run([*words, "--duration-s", str(duration_s)], check=False).returncode
    began = time.monotonic()
    rounds: list[dict[str, Any]] = []
    while not rounds or (not campaign.takes_time and time.monotonic() - began < duration_s):
        rounds.append(run_tests(name, seed + len(rounds), duration_s))
    failed = [one for one in rounds if one["exit_code"]]
    result = {
        "seed": seed,
        "duration_s": duration_s,
        "took_s": round(time.monotonic() - began, 1),
        "failed_rounds": len(failed),
        "rounds": rounds,
    }
    reporting.write(f"campaign-{name}", result, quick=False)
    return 1 if failed else 0


def run_tests(name: str, seed: int, duration_s: float) -> dict[str, Any]:
    """Run a campaign's tests once with a seed; return how they ended, and how long each took."""
    campaign = CAMPAIGNS[name]
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.jsonl"
        told = {"CROSSLOG_TEST_TIMES": str(times), "CROSSLOG_CAMPAIGN_SEED": str(seed)}
        if campaign.takes_time:
            told["CROSSLOG_CAMPAIGN_S"] = str(duration_s)
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--campaign",
            name,
            f"--hypothesis-seed={seed}",
        ]
        tests = campaign.tests
        if "CROSSLOG_CAMPAIGN_FLOWS" in os.environ:
            tests = campaign.of_flows
        ended = subprocess.run(
            [*words, *tests], cwd=ROOT, env={**os.environ, **campaign.settings, **told}, check=False
        )  # fmt: skip
        rows = [json.loads(line) for line in times.read_text(encoding="utf-8").splitlines()]
    calls = [row for row in rows if row["when"] == "call" or row["outcome"] != "passed"]
    slow = sorted(calls, key=lambda row: -row["wall"])[:50]
    return {
        "seed": seed,
        "exit_code": ended.returncode,
        "outcomes": Counter(row["outcome"] for row in calls),
        "failed": [row["test"] for row in calls if row["outcome"] == "failed"],
        "seconds": {row["test"]: row["wall"] for row in slow},
    }


if __name__ == "__main__":
    sys.exit(main())
