"""The demo as a person starts it; the tests share its folder, as demos in a row do."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.lab.plan import standard_plans
from jobs.lab.ports import find_base_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]
SLOW_S = 280.0
pytestmark = [
    pytest.mark.usefixtures("kafka"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="run on Linux: /proc is read"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("demo")
    yield home
    for pid in processes_of(home):
        os.kill(pid, signal.SIGKILL)


def processes_of(home: Path) -> list[int]:
    """Every process whose command line or environment names the demo's folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in told:
            found.append(int(folder.name))
    return found


def start_demo(home: Path, *options: str) -> subprocess.Popen[bytes]:
    outside = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "STATIC_ROOT"}
    clean = {name: value for name, value in os.environ.items() if name not in outside}
    kafka_port = str(find_base_port(standard_plans))
    with (home / "demo.txt").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "manage.py", "demo", "--home", str(home), "--port", "19960",
             "--kafka-port", kafka_port, *options],
            cwd=ROOT, env={**clean, "CROSSLOG_HOME": str(home)}, stdout=output, stderr=output,
        )  # fmt: skip


def output(home: Path) -> str:
    return (home / "demo.txt").read_text("utf-8")


def test_the_demo_shows_a_replicated_record_and_leaves_nothing_behind(home):
    demo = start_demo(home, "--exit-after-first-record")
    assert demo.wait(timeout=3 * SLOW_S) == 0, output(home)
    assert re.search(r"first replicated record seen in the console after \d+\.\d s", output(home))
    assert re.search(r"login +admin\n.*password +\S+", output(home))
    eventually(lambda: processes_of(home) == [], 40)


@pytest.mark.campaign("mirror-maker")
def test_the_demo_shows_a_real_mirror_maker_beside_and_ends_it_too(home):
    demo = start_demo(home, "--mirror-maker", "--exit-after-first-record")
    assert demo.wait(timeout=3 * SLOW_S) == 0, output(home)
    assert "flow east to west by MirrorMaker 2 is made: crosslog only watches it" in output(home)
    assert re.search(r"beside it, MirrorMaker 2 copies: http://\S+/replication/\d+/", output(home))
    eventually(lambda: processes_of(home) == [], 40)


@pytest.mark.campaign("faults")
def test_the_next_demo_goes_on_with_the_same_data_and_survives_no_kill(home):
    if not (home / "demo.txt").exists():  # in a campaign it is the first one
        assert start_demo(home, "--exit-after-first-record").wait(timeout=3 * SLOW_S) == 0
    demo = start_demo(home)
    eventually(lambda: "first replicated record" in output(home) or demo.poll() is not None, SLOW_S)
    assert demo.poll() is None, output(home)
    assert "is registered" not in output(home)
    demo.kill()
    demo.wait()
    # A flow's run has a keeper of its own, which ends it when its lease of 30 s is over.
    eventually(lambda: processes_of(home) == [], 120)
