#!/usr/bin/env python3
"""Make the virtual environment that `make` runs everything in; the second time it costs nothing.

Standard library only. The first lines run on any Python 3.6+, so that an old one gets a sentence
instead of a syntax error.
"""

import os
import shutil
import subprocess
import sys

OLDEST_PYTHON = (3, 11)
TRIED_PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14")


def find_newer_python():
    """Return a Python on the PATH that is new enough and really runs, None when there is none."""
    for name in TRIED_PYTHONS:
        path = shutil.which(name)
        if path and subprocess.call([path, "-c", "import venv"], stderr=subprocess.DEVNULL) == 0:
            return path
    return None


if sys.version_info < OLDEST_PYTHON:
    newer = find_newer_python()
    if newer:
        os.execv(newer, [newer, *sys.argv])
    sys.exit(
        f"crosslog needs Python 3.11 or newer; this one is {sys.version.split()[0]}.\n"
        "  Debian 12, Ubuntu 24.04: apt-get install python3 python3-venv\n"
        "  Fedora:                  dnf install python3.12\n"
        "  macOS:                   brew install python@3.12\n"
        "Another interpreter is chosen with: make PYTHON=/path/to/python3.12 ..."
    )

import argparse  # noqa: E402  everything below may use Python 3.11
import ast  # noqa: E402
import contextlib  # noqa: E402
import fcntl  # noqa: E402
import hashlib  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

from machine import (  # noqa: E402
    MissingError,
    check_java,
    free_megabytes,
    offer_browser,
    offer_promtool,
    run,
    say,
)

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
# Measured: 1.1 GB of packages, as much again in uv's cache where it cannot be hard-linked,
# and half a gigabyte while pyspark is unpacked.
NEEDED_MB = 3_000
# pip's settings and the variables in which uv expects the same thing.
UV_NAMES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
}


def main() -> int:
    """Check what is needed, install what is not there yet, and return the exit code."""
    options = read_options()
    try:
        if options.java:
            check_java()
        with one_at_a_time():
            make_environment(options.level)
            with class_archives(wanted=options.java):
                compile_loops()
        if options.browser:
            offer_browser()
            offer_promtool(PYTHON.parent)
    except MissingError as missing:
        print(f"\ncrosslog: {missing}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ncrosslog: stopped; the next run resumes where this one ended.", file=sys.stderr)
        return 130
    return 0


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("level", choices=("main", "dev"), help="main: to run; dev: also to test")
    parser.add_argument("--java", action="store_true", help="a Java runtime is needed too")
    parser.add_argument("--browser", action="store_true", help="get Chromium and promtool, too")
    return parser.parse_args()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let a second `make` in the same folder wait; the kernel frees the lock of a killed one."""
    (ROOT / "var").mkdir(exist_ok=True)
    with (ROOT / "var" / "bootstrap.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another make is installing into this folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_environment(level: str) -> None:
    """Install everything of this level, unless exactly that is installed already."""
    if is_installed(level):
        return
    started = time.monotonic()
    check_python()
    check_space()
    create_environment()
    install_installer()
    install_packages(level)
    install_project()
    stamp_path(level).write_text(fingerprint(level), encoding="utf-8")
    say(f"environment ready after {time.monotonic() - started:.0f} s")


def compile_loops() -> None:
    """Compile what is slow at its first use, unless it is compiled from the same sources already."""
    stamp, found = ENVIRONMENT / "crosslog-compiled.stamp", compiled_from()
    if stamp.exists() and stamp.read_text("utf-8") == found:
        return
    say("compiling the loops over metadata logs and record batches (once, half a minute)")
    if run([str(PYTHON), "-m", "jobs.quorum.replay.ahead"]):
        stamp.write_text(found, encoding="utf-8")
    else:
        say("they could not be compiled: the first import and the first flow will wait for that")


@contextlib.contextmanager
def class_archives(*, wanted: bool) -> Iterator[None]:
    """Make the archives of Spark's classes that are not there, beside a block: Spark starts faster."""
    making = [str(PYTHON), "-m", "jobs.spark.class_archive"]
    archives = subprocess.Popen(making, cwd=ROOT) if wanted else None
    yield
    if archives is not None and archives.wait() != 0:
        say(
            "the archives of Spark's classes could not be made: each start of Spark takes twice as long"
        )


def compiled_from(rooms: tuple[str, ...] = ("wire", "quorum")) -> str:
    """Return a hash of the sources that decide whether compiled code is still right, and of where it is."""
    places = [os.environ.get(name, "") for name in ("NUMBA_CACHE_DIR", "CROSSLOG_CACHE")]
    found = [ROOT / "jobs" / room for room in rooms]
    sources = sorted(path for room in found for path in room.rglob("*.py"))
    state = [(str(one), one.stat().st_mtime_ns, one.stat().st_size) for one in sources]
    return hashlib.sha256(repr((places, str(cache_folder()), state)).encode()).hexdigest()


def stamp_path(level: str) -> Path:
    """Return the file that says what was installed."""
    return ENVIRONMENT / f"crosslog-{level}.stamp"


def is_installed(level: str) -> bool:
    """Return whether this level, or one that includes it, was installed from the same inputs."""
    if not PYTHON.exists():
        return False
    levels = ("main", "dev") if level == "main" else ("dev",)
    return any(
        stamp_path(each).exists() and stamp_path(each).read_text("utf-8") == fingerprint(each)
        for each in levels
    )


def fingerprint(level: str, requirements: Path = REQUIREMENTS) -> str:
    """Return a hash of everything that decides what is in the environment."""
    digest = hashlib.sha256(str(ENVIRONMENT).encode())
    inputs = [requirements / "install.txt", requirements / f"{level}.txt", ROOT / "pyproject.toml"]
    for path in inputs:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check_python() -> None:
    """Raise when this Python cannot make virtual environments (Debian ships that separately)."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        minor = f"python3.{sys.version_info.minor}"
        raise MissingError(
            f"this Python cannot make virtual environments ({error}).\n"
            f"  Debian, Ubuntu: apt-get install {minor}-venv"
        ) from None


def check_space(needed_mb: int = NEEDED_MB) -> None:
    """Raise when the disk is too full for the packages."""
    for folder in (ROOT, cache_folder()):
        free_mb = free_megabytes(folder)
        if free_mb < needed_mb:
            raise MissingError(
                f"the disk is too full: {free_mb:,} MB are free at {folder}, "
                f"{needed_mb:,} MB are needed for the packages.\n"
                "  Make room there, or move the cache with XDG_CACHE_HOME=/another/disk."
            )


def cache_folder() -> Path:
    """Return the nearest existing folder to where pip and uv keep what they fetched."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    while not folder.exists():
        folder = folder.parent
    return folder


def create_environment() -> None:
    """Make `.venv`; an environment whose interpreter is gone or too old is made again."""
    probe = [str(PYTHON), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if PYTHON.exists() and subprocess.call(probe, stderr=subprocess.DEVNULL) == 0:
        return
    say(f"making .venv with Python {sys.version.split()[0]}")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=False)
    if made.returncode != 0:
        explain("The virtual environment could not be made.")


def install_installer() -> None:
    """Install uv and setuptools, with pip and by hash, unless the locked ones are there."""
    wanted = dict(re.findall(r"^(\S+?)==(\S+)", (REQUIREMENTS / "install.txt").read_text(), re.M))
    site = next((ENVIRONMENT / "lib").glob("python3*/site-packages"))
    if all((site / f"{name}-{version}.dist-info").exists() for name, version in wanted.items()):
        return
    lock = str(REQUIREMENTS / "install.txt")
    say("fetching the installer (uv, 20 MB)")
    if not run([*pip_install(), "--require-hashes", "-r", lock]):
        explain("The installer could not be fetched.")


def install_packages(level: str) -> None:
    """Install the locked packages, each checked against its hash: with uv, else with pip."""
    lock = REQUIREMENTS / f"{level}.txt"
    names = len(re.findall(r"^\S+==", lock.read_text("utf-8"), re.M))
    options = ["--require-hashes", "-r", str(lock)]
    # pyspark is built here. uv keeps what it built in isolation (with the locked setuptools) for
    # the next time; pip cannot lock that, so it uses the setuptools that is installed already.
    isolated = ["--build-constraints", str(REQUIREMENTS / "install.txt")]
    if install_from_cache([*uv_install(), *isolated, *options]):
        say(f"installed {names} packages of requirements/{lock.name} from the cache")
        return
    say(f"fetching {names} packages of requirements/{lock.name} (up to 700 MB)")
    if run([*uv_install(), *isolated, *options], uv_environment()):
        return
    say("uv did not succeed; trying the same with pip")
    if not run([*pip_install(), "--no-build-isolation", *options]):
        explain("The packages could not be installed.")


def install_from_cache(command: list[str]) -> bool:
    """Install what uv fetched or built before, without asking any index; takes a second."""
    attempt = subprocess.run(
        [*command, "--offline", "--quiet"], env=uv_environment(), capture_output=True, check=False
    )
    return attempt.returncode == 0


def install_project() -> None:
    """Install crosslog itself as a link to this folder; needs no network."""
    options = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    if not install_from_cache([*uv_install(), *options]) and not run([*pip_install(), *options]):
        explain("crosslog itself could not be installed.")


def pip_install() -> list[str]:
    """Return pip's install command."""
    return [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]


def uv_install() -> list[str]:
    """Return uv's install command."""
    return [str(ENVIRONMENT / "bin" / "uv"), "pip", "install", "--python", str(PYTHON)]


def uv_environment() -> dict[str, str]:
    """Return the environment for uv, which does not read pip's settings by itself."""
    environment = dict(os.environ)
    environment.setdefault("UV_HTTP_TIMEOUT", "180")
    for name, values in pip_settings().items():
        if name in UV_NAMES:
            variable, separator = UV_NAMES[name]
            environment.setdefault(variable, separator.join(values))
    if "UV_INDEX" in environment:
        # Every file is checked by its hash, so it does not matter which index it comes from.
        environment.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return environment


def pip_settings() -> dict[str, list[str]]:
    """Return what pip.conf and PIP_* variables say, by option; the environment wins."""
    listing = subprocess.run(
        [str(PYTHON), "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found: dict[str, list[str]] = {}
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", listing, re.M):
            found[name] = str(ast.literal_eval(value)).split()
    return found


def explain(what: str) -> None:
    """Raise with the likely reason why a step failed."""
    if free_megabytes(ROOT) < 200 or free_megabytes(cache_folder()) < 200:  # noqa: PLR2004
        raise MissingError(f"{what} The disk is full; make room and run the same command again.")
    if not index_answers():
        raise MissingError(
            f"{what} The Python package index does not answer.\n"
            "  Is this machine online? Behind a proxy, set HTTPS_PROXY; with an index of your own,\n"
            "  name it in pip.conf (index-url). What was fetched so far is kept."
        )
    raise MissingError(
        f"{what} The lines above say why; run the same command again after putting it right."
    )


def index_answers() -> bool:
    """Return whether pip can reach its index at all."""
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run(
            [str(PYTHON), "-m", "pip", "download", "--no-cache-dir", "--no-deps", "--quiet",
             "--retries", "0", "--timeout", "10", "--dest", folder, "wheel"],
            capture_output=True, check=False,
        )  # fmt: skip
    return probe.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
