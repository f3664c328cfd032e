"""The console promotes a standby broker by policy, keeps it while programs die, takes it back."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from tests.live.availability.standby_cluster import (
    STANDBY,
    Acked,
    IsrWatch,
    fencings,
    in_all_isrs,
    partitions,
    wait_until_fenced,
)
from tests.live.topics import new_topic_on
from tests.running_console import DATABASE, ROOT, RunningConsole, free_port
from tests.waiting import Stalls, eventually, pause

pytestmark = pytest.mark.timeout(900)
ALIAS = "standby"


@pytest.fixture(scope="module")
def console(tmp_path_factory, put_database) -> Iterator[RunningConsole]:
    home = tmp_path_factory.mktemp("promotion")
    put_database(home / DATABASE)
    started = RunningConsole(home, free_port())
    started.log_in()
    yield started
    started.end()


@pytest.fixture(scope="module")
def second(console) -> Iterator[subprocess.Popen[bytes]]:
    """A second `manage.py promote` for the same database, as on another machine."""
    environment = {
        **os.environ,
        "CROSSLOG_HOME": str(console.home),
        "CROSSLOG_SECRETS_DIR": str(console.home),
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    for outside in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY"):
        environment.pop(outside, None)
    with (console.home / "second.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "promote"],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=log,
        )
    yield process
    process.kill()
    process.wait(10)


def actions_of(console, topic):
    found = console.visitor.get(f"api/v1/promotion-actions/?cluster={ALIAS}&topic={topic}")
    return found["results"]


def state_of(console, topic):
    found = actions_of(console, topic)
    return found[0]["state"] if found else ""


def refusals_of(console, topic):
    return [one["code"] for one in actions_of(console, topic)[0]["refusals"]]


@contextmanager
def stopped(console):
    """The stop switch is on."""
    switch = {"cluster": ALIAS, "is_on": True, "why": "a test"}
    console.visitor.post("api/v1/promotion-stop/", switch)
    yield
    console.visitor.post("api/v1/promotion-stop/", {**switch, "is_on": False})


def loops(console):
    """How many loops were ever heard of, dead ones too."""
    return console.visitor.page(f"availability/{ALIAS}/promotion/").count("Loop <code>")


def events(console):
    """The kinds of what loops sent and saw, in their order."""
    with sqlite3.connect(console.home / DATABASE) as database:
        found = database.execute("SELECT kind FROM availability_standbyevent ORDER BY id")
        return [kind for (kind,) in found]


def decides(console):
    """The program that holds the lease."""
    with sqlite3.connect(console.home / DATABASE) as database:
        return database.execute("SELECT holder FROM availability_standbylease").fetchone()[0]


def findings(console):
    found = console.visitor.get(f"api/v1/promotion-findings/?cluster={ALIAS}")
    return [one["sentence"] for one in found["results"]]


def is_out(world, topic):
    return not any(STANDBY in one.isr for one in partitions(world.doors, topic).values())


def is_whole(world, topic):
    return all(len(one.isr) >= 2 for one in partitions(world.doors, topic).values())


@pytest.fixture(scope="module")
def topic(world, console, second) -> str:
    """A topic whose policy acts, at a cluster that two programs look after."""
    name = new_topic_on(world.cluster, [[1, 2, STANDBY]], min_insync_replicas="2")
    wait_until_fenced(world.doors)
    visitor, address = console.visitor, world.cluster.connection.bootstrap_servers
    visitor.post("api/v1/clusters/", {"alias": ALIAS, "bootstrap_servers": address})
    eventually(lambda: visitor.get(f"api/v1/topics/?cluster={ALIAS}")["results"], 60)
    policy = {
        "cluster": ALIAS, "pattern": name, "mode": "act", "confirm": name, "cooldown_s": 10, "hold_s": 5,
        "allowed_brokers": [STANDBY],
    }  # fmt: skip
    assert visitor.post("api/v1/promotion-policies/", policy)["acts"]
    eventually(lambda: loops(console) >= 2, 60)
    return name


def test_a_policy_promotes_when_a_sync_replica_dies(world, console, topic, record_property):
    with Acked(world.cluster, topic) as producer, Stalls() as stalls:
        world.cluster.node(2).kill()
        eventually(lambda: in_all_isrs(world.doors, STANDBY, topic), 40)
        record_property("promoted_after_s", stalls.wall_s)
        eventually(lambda: producer.is_going_on, 30)
        eventually(lambda: state_of(console, topic) == "verified", 30)
        producer.stop()
    assert producer.refused == 0
    # The session of the dead broker, two looks, and a second for the rest.
    assert producer.longest_gap_s() < 25 + stalls.seconds
    (told,) = actions_of(console, topic)
    assert (told["is_automatic"], told["broker"]) == (True, STANDBY)
    assert told["took_ms"] < 10_000 + 1000 * stalls.seconds
    assert told["evidence"]["leader"] == 1


@pytest.mark.campaign("drills")
def test_it_stays_while_the_database_is_away(world, console, topic):
    def take_the_database_away() -> None:
        with closing(sqlite3.connect(console.home / DATABASE, timeout=60)) as database:
            # No program can write: what a loop asks first, its lease, gets no answer.
            database.execute("BEGIN IMMEDIATE")
            pause(28, "longer than three sessions")
            database.rollback()

    # Each broker reads the metadata log in its own time.
    eventually(lambda: all(in_all_isrs(world.doors, STANDBY, topic) for _ in range(12)), 20)
    assert fencings(world.doors, take_the_database_away) == 0
    eventually(lambda: "gone_on_from_memory" in events(console), 60)


@pytest.mark.campaign("drills")
def test_it_stays_while_both_programs_die_in_turn(world, console, second, topic):
    def kill_one_after_the_other() -> None:
        before = loops(console)
        console.kill("crosslog: promoter")
        eventually(lambda: loops(console) > before, 60)
        pause(3, "the new program speaks for the standby")
        second.kill()
        second.wait(10)
        pause(15, "longer than a session")

    # Each broker reads the metadata log in its own time.
    eventually(lambda: all(in_all_isrs(world.doors, STANDBY, topic) for _ in range(12)), 20)
    with IsrWatch(world.doors, topic) as watch:
        assert fencings(world.doors, kill_one_after_the_other) == 0
    assert watch.looks > 100
    assert watch.missing == []
    assert len(actions_of(console, topic)) == 1
    # The program that is left decides now, and says that it is the only one.
    eventually(lambda: not decides(console).endswith(f":{second.pid}"), 30)
    eventually(lambda: any("Only one standby loop" in one for one in findings(console)), 60)


def test_it_is_taken_back_when_the_replica_returns_also_while_stopped(world, console, topic):
    with stopped(console):
        world.cluster.node(2).start()
        eventually(lambda: is_whole(world, topic), 60)
        eventually(lambda: state_of(console, topic) == "reverted", 60)
        # Each broker reads the metadata log in its own time.
        eventually(lambda: is_out(world, topic), 20)
    eventually(lambda: "ended" in events(console), 30)


@pytest.mark.campaign("drills")
def test_the_stop_switch_is_honoured(world, console, topic):
    eventually(lambda: is_whole(world, topic), 60)
    with stopped(console):
        world.cluster.node(2).kill()
        eventually(lambda: not is_whole(world, topic), 40)
        eventually(lambda: state_of(console, topic) in {"advised", "planned"}, 30)
        eventually(lambda: "stopped" in refusals_of(console, topic), 30)
        assert is_out(world, topic)
    eventually(lambda: in_all_isrs(world.doors, STANDBY, topic), 60)
    world.cluster.node(2).start()
    eventually(lambda: is_out(world, topic), 90)
    eventually(lambda: state_of(console, topic) == "reverted", 30)


def test_a_drill_measures_every_way_and_leaves_nothing(world, console, record_property):
    asked = {"cluster": ALIAS, "confirm": ALIAS, "broker": STANDBY}
    drill = console.visitor.post("api/v1/drills/", asked)["id"]

    def told():
        return console.visitor.get(f"api/v1/drills/{drill}/")

    eventually(lambda: told()["state"] not in {"queued", "running"}, 120)
    found = told()
    assert found["state"] == "succeeded", found["log"]
    measured = {one["actor"]: (one["promote_ms"], one["revert_ms"]) for one in found["results"]}
    assert set(measured) == {"fenced_standby", "reassign_to_spare", "relax_min_isr"}
    assert all(promote is not None for promote, _ in measured.values())
    record_property("measured", str(measured))
    with ClusterClient(world.cluster.connection) as client:
        left = [name for name in list_topic_names(client) if name.startswith("crosslog-drill-")]
    assert left == []
