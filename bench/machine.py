"""The machine and the versions that a number was measured with."""

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from jobs.version import VERSION

PACKAGES = (
    "confluent-kafka", "pyspark", "django", "gunicorn", "celery", "redis", "typst", "matplotlib",
)  # fmt: skip


def describe() -> dict[str, object]:
    """Return JSON values."""
    return {
        "cores": os.cpu_count(),
        "load_1m_before": round(os.getloadavg()[0], 2),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000,
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": java(),
        "crosslog": VERSION,
        "packages": {name: version(name) for name in PACKAGES},
    }


def processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    return answer.stderr.splitlines()[0] if answer.stderr else "none"
