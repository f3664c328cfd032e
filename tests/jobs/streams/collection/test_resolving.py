"""Names are looked up at once, and only for a time."""

import socket
import threading

import pytest

from jobs.streams.endpoints import resolved

NEVER = threading.Event()


@pytest.mark.parametrize(
    ("problem", "known"),
    [
        pytest.param(None, {"h": True}, id="it has an address"),
        pytest.param(socket.gaierror(socket.EAI_NONAME, ""), {"h": False}, id="no such name"),
        pytest.param(socket.gaierror(socket.EAI_AGAIN, ""), {}, id="no server answers"),
        pytest.param(OSError(), {}, id="no network"),
        pytest.param(UnicodeError(), {"h": False}, id="no name at all"),
    ],
)
def test_what_is_not_answered_is_not_known(problem, known):
    def ask(_):
        if problem is not None:
            raise problem

    assert resolved(["h"], 5, ask) == known


def test_a_name_that_takes_too_long_is_left_out():
    def ask(name):
        if name == "slow":
            NEVER.wait(10)

    assert resolved(["slow", "quick"], 0.2, ask) == {"quick": True}
    NEVER.set()
