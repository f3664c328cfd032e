"""The record path between two real clusters: records/s, CPU and memory, without and with Spark."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import watch
import yaml
from engines import clusters
from loads import PARTITIONS, Load, fill

from jobs.lab.lab import Lab

Say = Callable[[str], None]
HERE = Path(__file__).parent


LOADS = (
    Load("small", 2_000_000, 100),
    Load("large", 300_000, 1000, "lz4"),
)


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every load on fresh clusters; returns JSON values."""
    loads = [Load(**{**asdict(x), "records": x.records // (10 if quick else 1)}) for x in LOADS]
    rows = []
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        for load in loads:
            say(f"producing {load.records:,} records of {load.size} B into {load.topic}")
            fill(lab.cluster("source"), load)
            for kind, copy in (("plain process", copy_alone), ("flow on Spark", copy_by_flow)):
                flow = flow_file(lab, load, kind, Path(folder))
                row = {"load": asdict(load), "engine": "record", "run_as": kind, **copy(lab, flow)}
                say(f"{load.topic}, {kind}: {sentence(row)}")
                rows.append(row)
    return {
        "partitions": PARTITIONS,
        "clusters": "1 node each, 1 replica, same machine",
        "rows": rows,
    }


def sentence(row: dict[str, object]) -> str:
    return (
        f"{row['records_per_s']:,.0f} records/s, {row['cpu_s_per_million']:.1f} CPU-s per million, "
        f"{row['peak_rss_mb']:,} MB"
    )


def flow_file(lab: Lab, load: Load, kind: str, folder: Path) -> Path:
    """Write a flow whose source alias is new, so that remote topic and positions are new too."""
    alias = f"{load.topic}-{kind.split(maxsplit=1)[0]}"
    source, target = lab.cluster("source"), lab.cluster("target")
    values = {
        "name": alias,
        "source": {"alias": alias, "bootstrap_servers": source.bootstrap_servers},
        "target": {"alias": "target", "bootstrap_servers": target.bootstrap_servers},
        "topics": [load.topic],
        "tasks": 1,
        "path": "record",
    }
    path = folder / f"{alias}.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def copy_alone(lab: Lab, flow: Path) -> dict[str, object]:
    """Run the engine in a process of its own."""
    brokers = Brokers(lab)
    answer = subprocess.run(
        [sys.executable, str(HERE / "copy_alone.py"), str(flow)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    got = json.loads(answer.stdout)
    return result(got["records"], got["seconds"], got["cpu_s"], got["peak_rss_bytes"], brokers)


def copy_by_flow(lab: Lab, flow: Path) -> dict[str, object]:
    """Run `crosslog replicate --until-caught-up`; the rate counts from the first copied record."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs", "replicate", str(flow), "--until-caught-up", "--json",
         "--run-dir", str(flow.with_suffix(".run"))],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    family = watch.Family(process.pid)
    family.start()
    progress = flow.with_suffix(".run") / "progress.json"
    start = wait_for_records(progress, process)
    cpu_at_start = family.cpu_seconds()
    brokers = Brokers(lab)
    code = process.wait()
    family.stop()
    if code != 0:
        raise RuntimeError(f"crosslog replicate ended with exit code {code}; see {progress.parent}")
    end = read_progress(progress)
    copied = end["records"] - start["records"]
    seconds = (end["at_ms"] - start["at_ms"]) / 1000
    row = result(copied, seconds, family.cpu_seconds() - cpu_at_start, family.peak_rss, brokers)
    return row | {
        "records": end["records"],
        "seconds_with_start_up": round(time.monotonic() - began, 1),
        "cpu_s_with_start_up": round(family.cpu_seconds(), 1),
        "peak_rss_mb_by_role": {k: v // 1_000_000 for k, v in sorted(family.peak_by_role.items())},
    }


def wait_for_records(progress: Path, process: subprocess.Popen[bytes]) -> dict[str, int]:
    """Return the first progress that tells of copied records."""
    while process.poll() is None:
        now = read_progress(progress)
        if now["records"]:
            return now
        time.sleep(0.1)
    return {"records": 0, "at_ms": 0}


def read_progress(path: Path) -> dict[str, int]:
    if not path.exists():
        return {"records": 0, "at_ms": 0}
    values = json.loads(path.read_text("utf-8"))
    return {
        "records": sum(row["records"] for row in values["partitions"]),
        "at_ms": values["at_ms"],
    }


class Brokers:
    """The CPU that both clusters use from now on."""

    def __init__(self, lab: Lab) -> None:
        self.pids = {alias: lab.cluster(alias).node(1).pid or 0 for alias in ("source", "target")}
        self.before = {alias: watch.cpu_s(pid) or 0.0 for alias, pid in self.pids.items()}

    def used_s(self, alias: str) -> float:
        return (watch.cpu_s(self.pids[alias]) or 0.0) - self.before[alias]


def result(
    records: int, seconds: float, cpu_s: float, peak_rss: int, brokers: Brokers
) -> dict[str, object]:
    """Return the numbers of one run; CPU is that of crosslog alone, the brokers' is beside it."""
    millions = max(records, 1) / 1_000_000
    return {
        "records": records,
        "seconds": round(seconds, 2),
        "records_per_s": round(records / max(seconds, 0.001)),
        "cpu_s_per_million": round(cpu_s / millions, 2),
        "source_broker_cpu_s_per_million": round(brokers.used_s("source") / millions, 2),
        "target_broker_cpu_s_per_million": round(brokers.used_s("target") / millions, 2),
        "peak_rss_mb": peak_rss // 1_000_000,
    }
