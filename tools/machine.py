"""What this machine has and what it can be given: Java, a browser, room on the disk."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_JAVA = 17
PROGRESS_EVERY_S = 10.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class MissingError(Exception):
    """Something that only the user can put right; the message says what and how."""


def say(text: str) -> None:
    """Print a progress line at once, also into a log."""
    print(f"crosslog: {text}", flush=True)


def run(command: list[str], environment: dict[str, str] | None = None, folder: Path = ROOT) -> bool:
    """Run a step with its output in view; into a log, also say from time to time how far it is."""
    free_before = free_megabytes(ROOT)
    started = time.monotonic()
    process = subprocess.Popen(command, env=environment, cwd=folder)
    try:
        while True:
            try:
                return process.wait(PROGRESS_EVERY_S) == 0
            except subprocess.TimeoutExpired:
                written = max(0, free_before - free_megabytes(ROOT))
                if not sys.stderr.isatty():
                    say(f"  ... {time.monotonic() - started:.0f} s, about {written:,} MB written")
    except BaseException:
        process.terminate()
        process.wait()
        raise


def free_megabytes(folder: Path) -> int:
    """Return the free space of the disk that holds this folder."""
    return shutil.disk_usage(folder).free // 1_000_000


def check_java() -> None:
    """Raise when there is no Java that Kafka and Spark run on."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    found = java_version(command) if command else None
    if found is not None and found >= OLDEST_JAVA:
        return
    where = "JAVA_HOME points to" if home else "the PATH has"
    what = f"Java {found}" if found else "no working Java"
    raise MissingError(
        f"Kafka and Spark need Java {OLDEST_JAVA} or newer, and {where} {what}.\n"
        "  Debian, Ubuntu: apt-get install default-jdk-headless\n"
        "  Fedora:         dnf install java-21-openjdk-headless\n"
        "  macOS:          brew install openjdk@21\n" + other_javas()
    )


def java_version(command: str) -> int | None:
    """Return the major version that `java -version` names, None when it does not run."""
    try:
        answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(match[1]) if match and answer.returncode == 0 else None


def other_javas() -> str:
    """Return a line about installed Javas that would do, empty when there are none."""
    for java in sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True):
        version = java_version(str(java))
        if version is not None and version >= OLDEST_JAVA:
            return f"  Already here:   export JAVA_HOME={java.parent.parent}\n"
    return ""


def offer_browser() -> None:
    """Install Chromium where that is possible (Debian as root); else say what will be skipped."""
    if any(shutil.which(name) for name in BROWSERS):
        return
    reason = browser_obstacle() or install_browser()
    if reason:
        say(f"the browser tests will be skipped: no Chromium here, and {reason}")


def browser_obstacle() -> str | None:
    """Return why this machine cannot be given a Chromium from here, None when it can."""
    if shutil.which("apt-get") is None or "ID=debian" not in read_os_release():
        return "only Debian's own package is installed automatically"
    if os.geteuid() != 0:
        return "installing it needs root (apt-get install chromium)"
    return None


def read_os_release() -> str:
    """Return what the system says of itself; empty where it says nothing."""
    path = Path("/etc/os-release")
    return path.read_text("utf-8") if path.exists() else ""


def install_browser() -> str | None:
    """Install Chromium and return None, or what went wrong."""
    say("installing Chromium for the browser tests (apt-get, 120 MB)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    if run(["apt-get", "update", "-qq"], environment) and run(install, environment):
        return None
    return "apt-get could not install it (see above)"


def offer_promtool(folder: Path) -> None:
    """Put promtool into a folder of programs, out of Debian's package; else say what will be skipped."""
    if shutil.which("promtool") or shutil.which("promtool", path=folder):
        return
    if shutil.which("apt-get") is None or not fetch_promtool(folder):
        say("two tests of alert rules will be skipped: no promtool here or in apt-get's packages")


def fetch_promtool(folder: Path) -> bool:
    """Copy promtool out of the package, which is not installed: it would start a Prometheus."""
    say("fetching promtool for the tests of the alert rules (apt-get, 20 MB)")
    # As root apt-get fetches as a user of its own, who may not write into a temporary folder.
    download = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "prometheus"]
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        if not run(download, folder=here):
            is_updated = os.geteuid() == 0 and run(["apt-get", "update", "-qq"])
            if not is_updated or not run(download, folder=here):
                return False
        if is_unpacked := run(["dpkg-deb", "-x", str(next(here.glob("*.deb"))), place]):
            shutil.copy(here / "usr" / "bin" / "promtool", folder)
    return is_unpacked
