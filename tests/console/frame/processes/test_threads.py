"""Threads that are kept: begun, told to end, and begun again, as what is wanted says."""

import threading

import pytest
from django.db import InterfaceError, OperationalError

from console.frame.processes.threads import (
    FINAL_REST_S,
    REST_S,
    SupervisedThreads,
    ThreadDependencies,
    rest_after,
)
from jobs.cluster.errors import NotAuthorized, Unreachable
from jobs.cluster.protocol.errors import VersionNotOffered
from tests.support import Clock


class Work:
    """Wanted work and the threads started for it: each runs at once, then continues or has ended."""

    def __init__(self):
        self.clock = Clock()
        self.wanted = {1: "east"}
        self.error = None
        self.is_alive = True
        self.begun = []
        self.kept = SupervisedThreads(
            "test", self.find, self.go, ThreadDependencies(self.clock, self.start, lambda: None)
        )

    def find(self):
        return self.wanted

    def go(self, wanted, stop):
        self.begun.append((wanted, stop))
        if self.error is not None:
            raise self.error

    def start(self, run, name):
        run()
        return self.Thread(self)

    def names(self):
        return [name for name, _ in self.begun]

    class Thread:
        def __init__(self, work):
            self._work = work

        def is_alive(self):
            return self._work.is_alive

        def join(self, timeout=None):
            self._work.is_alive = False


@pytest.fixture
def work():
    return Work()


def test_each_thing_that_is_wanted_has_one_thread(work):
    work.kept.look()
    work.wanted = {1: "east", 2: "west"}
    work.kept.look()
    assert work.names() == ["east", "west"]


def test_what_is_wanted_differently_ends_first_and_begins_then(work):
    work.kept.look()
    work.wanted = {1: "east on another port"}
    work.kept.look()
    assert work.names() == ["east"]
    assert work.begun[0][1].is_set()
    work.is_alive = False
    work.kept.look()
    assert work.names() == ["east", "east on another port"]


def test_what_is_wanted_no_more_is_told_to_end(work):
    work.kept.look()
    work.wanted = {}
    work.kept.look()
    assert work.begun[0][1].is_set()


def test_what_broke_begins_again_after_a_rest(work):
    work.error, work.is_alive = RuntimeError("broke"), False
    work.kept.look()
    work.kept.look()
    assert work.names() == ["east"]
    work.clock.now += REST_S
    work.kept.look()
    assert work.names() == ["east", "east"]


def test_all_are_told_to_end_before_one_is_waited_for(work):
    work.wanted = {1: "east", 2: "west"}
    work.kept.look()
    work.kept.end()
    assert [stop.is_set() for _, stop in work.begun] == [True, True]
    assert not work.is_alive


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
def test_a_database_that_is_away_ends_nothing(error):
    stop, begun = threading.Event(), []

    def find():
        begun.append(None)
        stop.set()
        raise error

    SupervisedThreads(
        "test", find, lambda wanted, stop: None, ThreadDependencies(renew=lambda: None)
    ).run(stop)
    assert begun == [None]


class Stop:
    """Notes for how long it was waited."""

    def __init__(self):
        self.waited_s = []

    def wait(self, seconds):
        self.waited_s.append(seconds)


@pytest.mark.parametrize(
    ("error", "waited_s"),
    [
        pytest.param(VersionNotOffered("too old", cluster="east"), [FINAL_REST_S], id="final"),
        pytest.param(NotAuthorized("no right", cluster="east"), [], id="a person may act"),
        pytest.param(Unreachable("down", cluster="east"), [], id="retriable"),
        pytest.param(OSError("the disk is full"), [], id="no fault of a cluster"),
    ],
)
def test_only_what_is_final_rests_long_before_it_begins_again(error, waited_s):
    stop = Stop()
    rest_after(error, stop)
    assert stop.waited_s == waited_s
