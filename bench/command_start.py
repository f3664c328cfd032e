"""How fast commands start: processor time, wall and memory of each, and the way to the first task of Spark.

A command is started by a small process, whose own memory is below that of the command: on Linux the peak of a
process includes that of the one it was forked from.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from metadata import Asking
from watch import role

from jobs.commands.table import COMMANDS
from jobs.spark.processes import children_of
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

TIMES = 5
KIND = "isr-churn"
# Files that only a task writes.
WRITTEN = "*/*.partial/*/*"
BEGUN = """
import json, os, sys, time
nothing = os.open(os.devnull, os.O_RDWR)
to = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)]
began = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=to)
used = os.wait4(pid, 0)[2]
wall = time.monotonic() - began
print(json.dumps([used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1000]))
"""
DESCRIBED = (
    "Topic: orders\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)
# The command, and its document where it has one.
DOCUMENTS = {
    "--version": "",
    "--help": "",
    "wrong": "",
    "what-if FILE --lose-broker 1": DESCRIBED,
    "mirror-config FILE": "clusters = a, b\na->b.enabled = true\n",
    "detect-policy --topics FILE": "orders\neast.orders\n",
    "design --site a=1,2,3 --rpo zero": "",
    "translate --syncs FILE --topic t --partition 0 --offset 1": "",
}


def measure(folder: Path, _log: Path, small: Path) -> dict[str, object]:
    """Measure the start of commands, and of a question about a small log; returns JSON values."""
    key, value = encode_offset_sync(OffsetSync("t", 0, 1, 2))
    sync = {"partition": 0, "offset": 0, "key_hex": key.hex(), "value_hex": value.hex()}
    found: dict[str, object] = {}
    for line, document in DOCUMENTS.items():
        content = document or json.dumps(sync | {"timestamp": 1})
        (folder / "FILE").write_text(content, encoding="utf-8")
        found[line] = least(line, folder)
    helps = {name: least(f"{name} --help", folder, 1) for name in COMMANDS}
    worst = max(helps, key=lambda name: helps[name]["cpu_s"])
    found["worst --help"] = {"command": worst, **least(f"{worst} --help", folder)}
    found["first_task_cold"] = cold(folder / "cold", small)
    asking = Asking(folder / "warm")
    asking.ask(KIND, small)
    asking.settle()
    again = shutil.copytree(small, folder / "again")
    found["first_task_warm"] = asking.ask(KIND, again)
    asking.end()
    return found


def least(line: str, folder: Path, times: int = TIMES) -> dict[str, float]:
    """Start a command several times; returns the least of each figure."""
    words = [sys.executable, "-I", "-S", "-c", BEGUN, sys.executable, "-m", "jobs", *line.split()]
    took = [
        json.loads(subprocess.check_output(words, cwd=folder, env=environment()))
        for _ in range(times)
    ]
    cpu, wall, rss = (min(column) for column in zip(*took, strict=True))
    return {"cpu_s": round(cpu, 3), "wall_s": round(wall, 3), "peak_rss_mb": round(rss, 1)}


def cold(histories: Path, log: Path) -> dict[str, object]:
    """Ask by a command; returns when each of its processes was there, when a task wrote, and the end (s)."""
    words = [sys.executable, "-m", "jobs", KIND, str(log), "--histories", str(histories), "--json"]
    began, seen = time.monotonic(), dict[str, float]()
    with subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL) as command:
        while command.poll() is None:
            if "written" not in seen:
                names = [role(pid) for pid in children_of(command.pid)]
                names += ["written"] if any(histories.glob(WRITTEN)) else []
                for name in names:
                    seen.setdefault(name, round(time.monotonic() - began, 2))
            time.sleep(0.02)
    return {**seen, "end": round(time.monotonic() - began, 2)}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
