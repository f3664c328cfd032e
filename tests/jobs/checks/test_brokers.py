"""Rules about brokers: down, restarting, and their disks."""

from datetime import timedelta

import pytest

from jobs.checks.brokers import BrokerState, ClusterBrokers, LogDir, disks, down, restarts
from jobs.checks.settings import Setting, Settings
from jobs.severity import Severity
from tests.console.making import NOW

NONE = Settings()
SINCE = NOW.replace(hour=1, minute=46, second=29)


def of(**fields):
    values = {"id": 3, "rack": "dc-c", "is_there": False, "since": SINCE, "replica_count": 91}
    return ClusterBrokers(1, "east", (BrokerState(**values | fields),))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param({}, "Broker 3 (dc-c) of east is down since 01:46:29 UTC.", id="down"),
        pytest.param({"since": None}, "Broker 3 (dc-c) of east is down.", id="unknown since"),
        pytest.param(
            {"since": SINCE - timedelta(days=2)},
            "Broker 3 (dc-c) of east is down since 2026-11-19 01:46:29 UTC.",
            id="for days",
        ),
        pytest.param(
            {"in_controlled_shutdown": True},
            "Broker 3 (dc-c) of east is down since 01:46:29 UTC. "
            "It was shut down in order (controlled shutdown).",
            id="controlled shutdown",
        ),
        pytest.param(
            {"registered_at": SINCE + timedelta(minutes=1)},
            "Broker 3 (dc-c) of east is down since 01:46:29 UTC. "
            "It registered again at 01:47:29 UTC and is still fenced.",
            id="fenced after its start",
        ),
        pytest.param(
            {"replica_count": 0, "rack": ""},
            "Broker 3 of east is down since 01:46:29 UTC. It has no replicas.",
            id="no replicas",
        ),
    ],
)
def test_a_broker_that_is_not_there_has_one_finding(fields, sentence):
    (found,) = down(of(**fields), NONE, NOW)
    assert (found.code, found.sentence, found.brokers) == ("broker_down", sentence, (3,))


@pytest.mark.parametrize(("replicas", "severity"), [(1, Severity.CRITICAL), (0, Severity.WARNING)])
def test_a_broker_without_replicas_is_a_warning(replicas, severity):
    (found,) = down(of(replica_count=replicas), NONE, NOW)
    assert found.severity is severity


@pytest.mark.parametrize("is_there", [True, None])
def test_a_broker_that_is_there_or_not_known_has_none(is_there):
    assert not list(down(of(is_there=is_there), NONE, NOW))


def test_a_broker_down_says_its_rack_and_replicas_for_programs():
    (found,) = down(of(), NONE, NOW)
    assert found.evidence == {"broker": 3, "rack": "dc-c", "replicas": 91}
    assert found.since == SINCE


@pytest.mark.parametrize(("count", "is_found"), [(2, False), (3, True)])
def test_restarts_count_from_the_threshold_on(count, is_found):
    assert bool(list(restarts(of(restarts=count), NONE))) is is_found


def test_the_threshold_of_restarts_is_that_of_the_cluster():
    settings = Settings.of([Setting("broker_restarts", {"restarts": 5}, cluster=1)])
    assert not list(restarts(of(restarts=4), settings))


@pytest.mark.parametrize(
    ("dirs", "severity"),
    [
        pytest.param([LogDir("/a", 1000, 200)], None, id="enough"),
        pytest.param([LogDir("/a", 1000, 199)], Severity.WARNING, id="below 20 %"),
        pytest.param(
            [LogDir("/a", 1000, 900), LogDir("/b", 1000, 99)], Severity.CRITICAL, id="the fullest"
        ),
        pytest.param([LogDir("/a")], None, id="before KIP-827"),
        pytest.param(None, None, id="not known"),
    ],
)
def test_a_disk_is_judged_by_its_share_of_free_space(dirs, severity):
    found = list(disks(of(log_dirs=dirs), NONE))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_a_full_disk_says_directory_and_space():
    (found,) = disks(of(log_dirs=[LogDir("/data", 10 * 2**30, 2**29)]), NONE)
    assert (
        found.sentence
        == "Broker 3 (dc-c) of east has 512\N{NO-BREAK SPACE}MiB free in /data, 5\N{NO-BREAK SPACE}% of its volume."
    )
    assert found.evidence["free_percent"] == 5.0


def test_a_broken_log_directory_is_found_with_its_error():
    (found,) = disks(of(log_dirs=[LogDir("/data", error="KAFKA_STORAGE_ERROR.")]), NONE)
    assert found.code == "log_dir_offline"
    assert found.sentence == (
        "Log directory /data of broker 3 of east is offline: KAFKA_STORAGE_ERROR."
    )
