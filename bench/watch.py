"""What a family of processes uses: CPU seconds and resident memory, from /proc."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jobs.spark.processes import children_of

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
EVERY_S = 0.2


def cpu_s(pid: int) -> float | None:
    """Return user + system time of one process, None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def rss_bytes(pid: int) -> int:
    """Return the resident memory of one process, 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def pss_bytes(pid: int) -> int:
    """Return the memory of one process, what it shares with others divided among them; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


# What a process is, by a word of its command line; the first one that fits.
ROLES = {
    "kafka.Kafka": "brokers",
    "org.apache.kafka.connect.mirror.MirrorMaker": "mirror maker",
    "org.apache.spark.deploy.SparkSubmit": "jvm",
    "/java ": "java",
    "pyspark.worker": "task",
    "pyspark/worker": "task",
    "pyspark/daemon": "task",
    "jobs.spark.run_supervisor": "keeper",
    "entry/run.py": "driver",
    "jobs.lab": "lab",
    "manage.py": "manage",
    "redis-server": "redis",
}


# How the command of a program begins that `manage.py up` has forked; its name follows.
FORKED = "crosslog:"


def role(pid: int) -> str:
    """Return what a process is: jvm, driver, task, keeper of a flow, a program of the console, or other."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return "other"
    words = command.rstrip("\0 ").split()
    if words[:1] == [FORKED]:
        return f"console {words[1]}"
    name = next((name for word, name in ROLES.items() if word in command), "other")
    if name == "manage":
        at = next(number for number, word in enumerate(words) if word.endswith("manage.py"))
        return f"manage {words[at + 1]}"
    return name


@dataclass(frozen=True)
class Use:
    """What processes of one role have used so far (CPU seconds), and their memory now."""

    cpu_s: float = 0.0
    pss: int = 0


def use_by_role(pids: Iterable[int], role_of: Callable[[int], str] = role) -> dict[str, Use]:
    """Return what each role of these processes uses; those that are gone count nothing."""
    found: dict[str, Use] = {}
    for pid in pids:
        used = cpu_s(pid)
        if used is not None:
            before = found.setdefault(role_of(pid), Use())
            found[role_of(pid)] = Use(before.cpu_s + used, before.pss + pss_bytes(pid))
    return found


def rates(
    before: dict[str, Use], after: dict[str, Use], seconds: float
) -> dict[str, dict[str, float]]:
    """Return percent of one core and PSS (MB) by role, and of all of them."""
    return {
        name: {
            "cpu_percent": round(100 * (use.cpu_s - before.get(name, Use()).cpu_s) / seconds, 1),
            "pss_mb": round(use.pss / 1e6, 1),
        }
        for name, use in sorted(after.items())
    }


@dataclass
class Family(threading.Thread):
    """Looks at a process and all its descendants until `stop`; the last look at each one counts."""

    root: int
    cpu: dict[int, float] = field(default_factory=dict)
    peak_rss: int = 0
    peak_pss: int = 0
    peak_by_role: dict[str, int] = field(default_factory=dict)
    largest_task: int = 0

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._ended = threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Take one sample."""
        pids = [self.root, *children_of(self.root)]
        by_role: dict[str, int] = {}
        for pid in pids:
            used = cpu_s(pid)
            if used is not None:
                self.cpu[pid] = used
                name, size = role(pid), rss_bytes(pid)
                by_role[name] = by_role.get(name, 0) + size
                self.largest_task = max(self.largest_task, size if name == "task" else 0)
        self.peak_rss = max(self.peak_rss, sum(by_role.values()))
        self.peak_pss = max(self.peak_pss, sum(map(pss_bytes, pids)))
        for name, size in by_role.items():
            self.peak_by_role[name] = max(size, self.peak_by_role.get(name, 0))

    def cpu_seconds(self) -> float:
        """Return what the family used so far."""
        return sum(self.cpu.values())

    def stop(self) -> None:
        self._ended.set()
        self.join()
