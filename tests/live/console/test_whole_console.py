"""The whole product, as a person and an operator's worst day see it: real processes, clusters, browser."""

import os
import re
import signal
import uuid
from pathlib import Path

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.lab.traffic.fill import Filling, fill
from tests.live.groups import commit
from tests.live.records import read_all
from tests.running_console import RunningConsole
from tests.waiting import eventually

COPIES_WITHIN_S = 120
READY_WITHIN_S = 150
ARTIFACTS = Path(__file__).parents[3] / "artifacts"


class Flow:
    """A flow of one topic, made through the API."""

    def __init__(self, console: RunningConsole, east, west) -> None:
        self.console, self.east, self.west = console, east, west
        self.topic = f"whole-{uuid.uuid4().hex[:8]}"
        self.written = 0
        self.write(2_000)
        values = {"name": self.topic, "source": "east", "target": "west", "topics": [self.topic]}
        values |= {"emit_checkpoints_interval_s": 2, "start": True}
        self.id = console.visitor.post("api/v1/flows/", values)["id"]

    def write(self, count: int) -> None:
        fill(self.east.connection, self.topic, Filling(count, partitions=2, seed=self.written))
        self.written += count

    def shown(self) -> dict:
        return self.console.flow(self.id)

    def wait_until_caught_up(self) -> None:
        """Wait until the console itself says that nothing is left to copy, and check that it is so."""
        eventually(self._is_copied, COPIES_WITHIN_S)
        assert len(read_all(self.west, f"east.{self.topic}")) == self.written

    def _is_copied(self) -> bool:
        rows = self.console.visitor.get(f"api/v1/flows/{self.id}/partitions/")["results"]
        return (
            sum(row["position"] or 0 for row in rows) >= self.written and self.shown()["lag"] == 0
        )

    def stop(self) -> None:
        self.console.visitor.post(f"api/v1/flows/{self.id}/stop/")
        eventually(lambda: self.live_runs() == [], 60)

    def live_runs(self) -> list[str]:
        runs = self.console.visitor.get("api/v1/runs/?state=RUNNING")["results"]
        return [run["id"] for run in runs if run["subject"] == f"flow:{self.id}"]


@pytest.fixture(scope="module")
def flow(registered: RunningConsole, east, west) -> Flow:
    made = Flow(registered, east, west)
    made.wait_until_caught_up()
    return made


@pytest.mark.browser
def test_a_person_logs_in_starts_a_flow_and_sees_its_lag_fall(flow, running, page):
    flow.stop()
    flow.write(20_000)
    log_in(page, running)
    page.goto(f"{running.url}replication/{flow.id}/")
    behind = page.locator(".fact", has_text="Replication lag (records)").first
    eventually(lambda: shown_number(behind) == 20_000, 60)
    page.get_by_role("button", name="Start").click()
    eventually(lambda: shown_number(behind) == 0, COPIES_WITHIN_S)
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "flow-lag-fell.png", full_page=True)
    flow.wait_until_caught_up()


def log_in(page, running) -> None:
    page.goto(running.url)
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(running.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "login" not in url)


def shown_number(fact) -> int | None:
    """Return the number that a fact of the page shows now; None while it shows none."""
    found = re.search(r"\d[\d,]*", fact.locator("dd").inner_text())
    return int(found[0].replace(",", "")) if found else None


def test_a_group_that_reads_to_the_end_can_fail_over_now(flow, running, east):
    """Its offset syncs are followed, checkpoints come, and every part of the answer is fresh."""
    group = f"readers-of-{flow.topic}"
    half = flow.written // 2
    commit(east, group, {TopicPartition(flow.topic, p): half for p in (0, 1)})
    eventually(lambda: ready(running, flow, group), READY_WITHIN_S)
    eventually(lambda: failing(running, flow) == [], READY_WITHIN_S)


def failing(running, flow) -> list[str]:
    return [one["noun"] for one in running.flow(flow.id)["freshness"] if one["failing_since"]]


def ready(running, flow, group) -> bool:
    found = running.visitor.get(f"api/v1/flows/{flow.id}/checkpoints/?group={group}")["results"]
    return [one["readiness"] for one in found] == ["ready"]


def test_a_killed_worker_leaves_the_flow_running_and_the_next_one_adopts_it(flow, running):
    before = flow.live_runs()
    running.kill("crosslog: spark")
    flow.write(500)
    flow.wait_until_caught_up()
    assert flow.live_runs() == before


def test_a_killed_jvm_is_followed_by_a_run_that_goes_on_and_its_crash_is_told(flow, running):
    from tests.live.spark.test_life_of_a_run import pid_of

    (before,) = flow.live_runs()
    os.kill(pid_of(running.home / "runs" / before, "deploy.SparkSubmit"), signal.SIGKILL)
    eventually(lambda: flow.live_runs() not in ([], [before]), COPIES_WITHIN_S)
    flow.write(500)
    flow.wait_until_caught_up()
    assert flow.shown()["crashes"]["count"] == 1


@pytest.mark.campaign("faults")
def test_redis_restarted_changes_nothing_but_a_pause(flow, running):
    running.kill("redis-server")
    flow.write(500)
    flow.wait_until_caught_up()
    assert len(flow.live_runs()) == 1


def test_a_broker_that_hangs_never_hangs_a_page(flow, running, west):
    (node,) = west.nodes.values()
    node.pause()
    try:
        running.visitor.page(f"replication/{flow.id}/")
        running.visitor.page("clusters/west/")
        eventually(lambda: west_rounds_failing(running), 60)
        known = running.visitor.page(f"clusters/west/topics/?q={flow.topic}")
        assert f"/topics/east.{flow.topic}/" in known
    finally:
        node.resume()
    flow.write(100)
    flow.wait_until_caught_up()


def west_rounds_failing(running) -> bool:
    rounds = running.visitor.get("api/v1/clusters/west/freshness/")
    rounds = rounds["results"] if isinstance(rounds, dict) else rounds
    return any(entry["failing_since"] for entry in rounds)


def test_stopping_and_starting_resumes_without_copying_twice(flow, running):
    flow.stop()
    flow.write(300)
    running.visitor.post(f"api/v1/flows/{flow.id}/start/")
    flow.wait_until_caught_up()


@pytest.mark.campaign("faults")
def test_nothing_is_left_after_kill_9_of_everything_that_could_clean_up(
    tmp_path_factory, east, west
):
    from tests.live.spark.test_life_of_a_run import pids_in
    from tests.running_console import free_port

    lease_s = 60
    console = RunningConsole(tmp_path_factory.mktemp("doomed"), free_port(), lease_s)
    console.log_in()
    for cluster in (east, west):
        values = {
            "alias": cluster.connection.alias,
            "bootstrap_servers": cluster.connection.bootstrap_servers,
            "save_unchecked": True,
        }
        console.visitor.post("api/v1/clusters/", values)
    flow = Flow(console, east, west)
    flow.wait_until_caught_up()
    (folder,) = [path for path in (console.home / "runs").iterdir() if path.is_dir()]
    assert pids_in(folder)
    console.supervisor.kill()
    eventually(lambda: pids_in(folder) == [], lease_s + 40)
    eventually(lambda: console.pid_of("") is None)
