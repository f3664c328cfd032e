"""Parts of one program: a thread each."""

import logging
import os
import signal
import sys
import threading

import pytest

from console.frame.processes import liveness
from console.frame.processes.forked import fork
from console.frame.processes.liveness import LivenessSigns
from console.frame.processes.programs import command, run_together
from tests.waiting import eventually


def say(*words: object) -> None:
    sys.stdout.write(f"{' '.join(map(str, words))}\n")


def wait_until_told(stop: threading.Event) -> None:
    liveness.sign()
    say("waits")
    stop.wait()
    say("told to end")


def end(_stop: threading.Event) -> None:
    pass


def break_down(_stop: threading.Event) -> None:
    raise ValueError("no room left")


@pytest.fixture
def home(settings, tmp_path):
    settings.SIGNS_DIR = tmp_path / "alive"
    return tmp_path


def started(home, **parts):
    def run() -> int:
        logging.basicConfig(stream=sys.stderr, force=True)
        return run_together(parts)

    with (home / "log").open("ab") as output:
        return fork(run, "services", output.fileno())


@pytest.mark.parametrize(
    ("part", "said"), [(end, "broken has ended by itself"), (break_down, "no room left")]
)
def test_a_part_that_ends_ends_the_program(home, part, said):
    assert started(home, whole=wait_until_told, broken=part).wait(30) == 1
    assert said in (home / "log").read_text()
    assert "told to end" in (home / "log").read_text()


def test_a_signal_ends_all_parts_in_order(home):
    program = started(home, one=wait_until_told, other=wait_until_told)
    eventually(lambda: (home / "log").read_text().count("waits") == 2)
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 0
    assert (home / "log").read_text().count("told to end") == 2


def test_each_part_signs_for_itself(home):
    def be_silent(stop: threading.Event) -> None:
        os.utime(home / "alive" / "silent", ns=(0, 0))
        stop.wait()

    signs = LivenessSigns(home / "alive")
    for name in ("signing", "silent"):
        signs.expect(name)
    program = started(home, silent=be_silent, signing=wait_until_told)
    eventually(lambda: signs.last("signing") and "waits" in (home / "log").read_text())
    eventually(lambda: signs.last("silent") == 0)
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 0


@pytest.mark.parametrize(
    ("name", "program"),
    [("follow", "follower"), ("follow_metadata", "metadata"), ("promote", "promoter")],
)
def test_commands_that_run_until_they_are_stopped_are_parts(name, program):
    assert command(name)[0] == program


def test_other_commands_are_no_parts():
    with pytest.raises(TypeError, match=r"manage\.py migrate"):
        command("migrate")
