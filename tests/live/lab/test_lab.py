"""The lab itself, with real nodes."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.lab.errors import LabError, PortTaken
from jobs.lab.lab import Lab
from jobs.lab.plan import standard_plans
from jobs.lab.ports import find_base_port, is_free
from jobs.lab.traffic.fill import Filling, fill
from tests.waiting import PATIENCE, eventually

# The controller takes a lost broker for dead after 5 s instead of 9.
QUICK = {"broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "500"}


def read_all(connection, topic, count):
    with ClusterClient(connection) as client:
        consumer = client.consumer({"group.id": "reader", "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        found = []

        def is_read() -> bool:
            found.extend(one for one in consumer.consume(500, 0.2) if one.error() is None)
            return len(found) >= count

        eventually(is_read, 30)
        consumer.close()
    return sorted((r.partition(), r.offset(), r.key(), r.value(), r.headers() or []) for r in found)


def told_voters(cluster):
    tool = cluster.jvm.start_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        ["--bootstrap-server", cluster.bootstrap_servers, "describe", "--status"],
        logging=cluster.node(1).logging,
    )
    with tool:
        said, _ = tool.communicate(timeout=60 * PATIENCE)
    lines = [line for line in said.splitlines() if line.startswith("CurrentVoters")]
    return {voter["id"] for voter in json.loads(lines[0].partition(":")[2])} if lines else None


def voters(cluster):
    """Ask until somebody leads who can tell."""
    eventually(lambda: told_voters(cluster) is not None, 60)
    return told_voters(cluster)


def is_alive(pid):
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def command(*arguments, check=True):
    done = subprocess.run(
        [sys.executable, "-m", "jobs.lab", "lab", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def test_three_nodes_in_three_racks_form_the_east_cluster(east):
    with ClusterClient(east.connection, timeout_s=30) as client:

        def racks() -> set[tuple[int, str]]:
            return {(b.broker_id, b.rack) for b in describe_cluster(client).brokers}

        eventually(lambda: len(racks()) == 3, 20)  # one that was late for its session is back soon
        assert racks() == {(1, "dc-a"), (2, "dc-b"), (3, "dc-c")}


def test_a_killed_node_comes_back_with_its_data(small_lab):
    lab = small_lab(overrides=QUICK)
    cluster = lab.cluster("small")
    written = fill(cluster.connection, "kept", Filling(300, partitions=2))
    lab.node("small-1").kill()
    assert not lab.node("small-1").is_running
    cluster.start()
    expected = sorted((r.partition, r.offset, r.key, r.value, r.headers) for r in written)
    assert read_all(cluster.connection, "kept", 300) == expected


def test_a_paused_node_answers_nothing_until_it_is_resumed(small_lab):
    node = small_lab(overrides=QUICK).node("small-1")
    node.pause()
    assert not node.serves(frozenset())
    node.resume()
    eventually(lambda: node.serves(frozenset({1})), 20)


def test_an_added_controller_becomes_a_voter_and_stays_one_after_a_restart(small_lab):
    lab = small_lab(overrides=QUICK)
    assert lab.cluster("small").add_controller().name == "small-2"
    assert voters(lab.cluster("small")) == {1, 2}
    lab.kill()
    again = Lab(lab.root)
    try:
        again.start()
        assert voters(again.cluster("small")) == {1, 2}
    finally:
        again.kill()


def test_two_labs_run_side_by_side(small_lab):
    one, two = small_lab("one").cluster("one"), small_lab("two").cluster("two")
    with ClusterClient(one.connection) as first, ClusterClient(two.connection) as second:
        assert describe_cluster(first).cluster_id != describe_cluster(second).cluster_id


def test_a_taken_port_is_refused_with_its_owner(small_lab):
    lab = small_lab("first")
    rival = Lab(lab.root.parent / "rival", lab.plans, jvm=lab.cluster("first").jvm)
    with pytest.raises(
        PortTaken, match=r"is taken by process \d+ .*choose another with --base-port"
    ):
        rival.start()


def test_a_node_outlives_the_thread_that_started_it(small_lab):
    lab = small_lab(start=False)
    starter = threading.Thread(target=lab.start)
    starter.start()
    starter.join()
    eventually(lambda: lab.node("small-1").serves(frozenset({1})), 20)


def test_a_killed_keeper_leaves_no_node_behind(tmp_path):
    base_port = find_base_port(standard_plans)
    started = json.loads(
        command("start", "--dir", tmp_path / "kept", "--base-port", base_port, "--json").stdout
    )
    pids = [node["pid"] for cluster in started["clusters"] for node in cluster["nodes"]]
    assert len(pids) == 4
    os.kill(started["keeper"], signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, pids)), 10)
    status = command("status", "--dir", tmp_path / "kept", "--json", check=False)
    assert (status.returncode, json.loads(status.stdout)["is_running"]) == (1, False)


def test_the_whole_life_of_a_lab_from_the_shell(tmp_path):
    root = tmp_path / "shell"
    base_port = find_base_port(standard_plans)
    command("start", "--dir", root, "--base-port", base_port, "--traffic")
    assert "running already" in command("start", "--dir", root, check=False).stderr
    command("kill", "east-2", "--dir", root)

    def states() -> tuple[int, str, str]:
        told = command("status", "--dir", root, "--json", check=False)
        nodes = [n for c in json.loads(told.stdout)["clusters"] for n in c["nodes"]]
        by_name = {n["name"]: n["state"] for n in nodes}
        return told.returncode, by_name["east-2"], by_name["east-1"]

    # A node that needs more than a second for an answer counts as starting.
    eventually(lambda: states() == (1, "stopped", "serving"), 60)
    command("start-node", "east-2", "--dir", root)
    eventually(lambda: states() == (0, "serving", "serving"), 60)
    command("stop", "--dir", root)
    assert is_free(base_port)
    command("wipe", "--dir", root)
    assert not root.exists()


def test_an_unknown_node_is_bad_input_and_names_the_nodes_there_are(small_lab):
    with pytest.raises(LabError, match="There is no node small-x in this lab: small-1"):
        small_lab(start=False).node("small-x")
