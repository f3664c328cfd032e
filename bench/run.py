#!/usr/bin/env python3
"""Run the benchmarks and write one JSON file each: `bench/run.py [NAME...] [--quick] [--runs N]`."""

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import at_rest
import availability_pages
import check_round
import collection
import demo_hours
import engines
import group_pages
import hostile
import latency
import many_flows
import pages
import quiet_flow
import record_path
import records
import reports
import tracing
import translation
import what_if
import what_if_pages
import whole_log
from reporting import say, write

HERE = Path(__file__).parent


def measure_streams(*arguments: Any, **options: Any) -> Any:
    """Measure with the groups of the tests, which are only found from the root."""
    sys.path.insert(0, str(HERE.parent))
    import streams_pages

    return streams_pages.measure(*arguments, **options)


BENCHMARKS = {
    **{f"engines-{load.topic}": partial(engines.measure, wanted=load) for load in engines.LOADS},
    "latency": latency.measure,
    "many-flows": many_flows.measure,
    "quiet-flow": quiet_flow.measure,
    "record-path": record_path.measure,
    "records": records.measure,
    "tracing": tracing.measure,
    "translation": translation.measure,
    "availability-pages": availability_pages.measure,
    "group-pages": group_pages.measure,
    "hostile": hostile.measure,
    "checks": check_round.measure,
    "collection": collection.measure,
    "metadata": whole_log.measure,
    "what-if": what_if.measure,
    "what-if-pages": what_if_pages.measure,
    "reports": reports.measure,
    "streams": measure_streams,
    "pages": pages.measure,
    "pages50k": pages.measure_50k,
    "at-rest": at_rest.measure,
    "demo-hours": demo_hours.measure,
}
# What runs for a given time; only by name, because they take hours.
LONG = {"at-rest": "1200", "demo-hours": "7200"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which: {', '.join(BENCHMARKS)} (all of them)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, to try it out")
    told = ", ".join(f"`{name}` ({default})" for name, default in LONG.items())
    parser.add_argument("--duration-s", type=float, help=f"of {told}")
    told = "of `demo-hours`: which broker is killed; of `hostile`: which requests"
    parser.add_argument("--seed", type=int, default=1, help=told)
    parser.add_argument("--runs", type=int, default=3, help="of each engine, for the median (3)")
    options = parser.parse_args()
    unknown = set(options.name) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    names = options.name or [name for name in BENCHMARKS if name != "demo-hours"]
    if len(names) > 1:
        return max(alone(name, options) for name in names)
    (name,) = names
    say(f"{name}: measuring")
    runs = {"runs": options.runs} if name.startswith("engines") else {}
    if name in LONG:
        runs = {"duration_s": options.duration_s}
    if name in {"demo-hours", "hostile"}:
        runs["seed"] = options.seed
    write(name, BENCHMARKS[name](say, quick=options.quick, **runs), quick=options.quick)
    return 0


def alone(name: str, options: argparse.Namespace) -> int:
    """Run a benchmark in a process of its own: one leaves a settled Django behind, all leave memory."""
    words = [sys.executable, __file__, name, "--runs", str(options.runs)]
    words += ["--seed", str(options.seed)]
    if options.duration_s is not None:
        words += ["--duration-s", str(options.duration_s)]
    return subprocess.run([*words, *(["--quick"] if options.quick else [])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
