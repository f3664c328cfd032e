"""`manage.py up` as a person starts it, with the real Redis, web server and workers."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from console.frame.processes.liveness import LivenessSigns
from console.frame.processes.supervisor import free_port, is_url_ok
from jobs.spark.processes import children_of, start_ticks
from tests.support import tcp_ports_of
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parent.parent.parent.parent
SLOW_S = 120.0  # a busy machine imports Django five times at once

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="run on Linux, as the supervisor"),
]


class Console:
    """A console of its own in a folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port(19_900)
        self.database = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.log = home / "up.txt"

    @property
    def output(self) -> str:
        return self.log.read_text("utf-8")

    def start(self, output: str = "up.txt") -> None:
        self.home.mkdir(exist_ok=True)
        self.log = self.home / output
        own = {"CROSSLOG_HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home)}
        if self.database:
            own["DATABASE_URL"] = self.database
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "STATIC_ROOT"}
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=ROOT, env={**clean, **own}, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        eventually(lambda: "is ready at" in self.output or self.process.poll() is not None, SLOW_S)
        assert self.process.poll() is None, self.output

    def program(self, word: str) -> int:
        """The pid of the child whose command line has this word."""
        for pid in children_of(self.process.pid):
            if word in Path(f"/proc/{pid}/cmdline").read_text("utf-8"):
                return pid
        raise AssertionError(f"no {word} among the children")

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    """A console that is up, in a home that was there before and that others may read."""
    console = Console(tmp_path_factory.mktemp("up") / "home")
    console.home.mkdir(mode=0o755)
    console.start()
    console.wait_until_ready()
    yield console
    console.end()


def test_a_console_that_is_up_answers_at_one_port_and_nothing_else(console):
    assert is_url_ok(f"http://127.0.0.1:{console.port}/readyz", timeout_s=SLOW_S)
    assert "password:" in console.output
    family = children_of(console.process.pid)
    assert {port for pid in family for port in tcp_ports_of(pid)} == {console.port}
    assert not (console.home / "gunicorn.ctl").exists()
    eventually(lambda: len(children_of(console.program("crosslog: web"))) == 2)  # two answer pages


def test_a_home_is_made_for_its_user_only_and_an_open_one_is_said(console):
    assert f"warning: {console.home} can be read by other users (0755)" in console.output
    made = [path for path in console.home.rglob("*") if path.name != "up.txt" and in_home(path)]
    assert console.home / "crosslog.sqlite3" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


def in_home(path: Path) -> bool:
    """Static files are public, and Django gives them their modes."""
    return "static" not in path.parts and not path.is_symlink() and path.exists()


def test_every_program_gives_signs_of_life(console):
    signs = LivenessSigns(console.home / "alive")
    programs = ("collect", "spark", "follower", "metadata", "promoter", "beat")
    eventually(lambda: all(signs.last(program) for program in programs), SLOW_S)
    before = signs.last("collect")
    eventually(lambda: signs.last("collect") > before, SLOW_S)


def refused(other: Console, **options: str) -> str:
    """Start another console that is in the way of one, and return what it says."""
    other.start(**options)
    assert other.process.wait(timeout=SLOW_S * PATIENCE) == 1
    return other.output


def test_a_second_console_on_the_same_database_is_told_so_in_one_sentence(console, tmp_path):
    other = Console(tmp_path)
    other.database = f"sqlite:///{console.home / 'crosslog.sqlite3'}"
    (line,) = refused(other).splitlines()
    assert f"Another crosslog (process {console.process.pid} on " in line
    assert f"runs with the database {console.home / 'crosslog.sqlite3'}" in line
    assert "DATABASE_URL" in line


def test_a_second_console_in_the_same_folder_is_told_so(console):
    said = refused(Console(console.home), output="second.txt")
    assert f"crosslog already runs with the folder {console.home}" in said


def test_a_second_console_at_the_same_port_is_told_which_option_changes_it(console, tmp_path):
    other = Console(tmp_path)
    other.port = console.port
    said = refused(other)
    assert f"Port {console.port} on 127.0.0.1 is taken" in said
    assert "--port" in said


def test_a_stranger_at_the_socket_of_redis_is_told_with_both_ways_out(tmp_path):
    third = Console(tmp_path)
    (third.home / "redis").mkdir()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(third.home / "redis" / "redis.sock"))
        other.listen()
        said = refused(third)
    assert f"Another program listens at {third.home}/redis/redis.sock" in said
    assert "CROSSLOG_HOME" in said
    assert "REDIS_URL" in said


def test_a_console_heals_itself_and_ends_in_order(console):
    family = children_of(console.process.pid)
    os.kill(console.program("redis-server"), signal.SIGKILL)
    eventually(lambda: "redis started again" in console.output, SLOW_S)

    console.process.send_signal(signal.SIGTERM)
    assert console.process.wait(timeout=SLOW_S * PATIENCE) == 0
    assert [pid for pid in family if start_ticks(pid) is not None] == []


def test_nothing_outlives_a_killed_supervisor(console):
    console.start("again.txt")  # it has ended in order
    console.wait_until_ready()
    family = children_of(console.process.pid)
    assert len(family) >= 5
    console.process.kill()
    console.process.wait()
    eventually(lambda: [pid for pid in family if start_ticks(pid) is not None] == [], 30)
