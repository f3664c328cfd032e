"""What a copier of records does about the clusters that it looks after."""

import time

import pytest

from jobs.cluster.errors import AuthenticationFailed, ClusterFault, SecretReplaced, Unreachable
from jobs.replication.copy.quotas import Throttle
from jobs.replication.copy.records.progress_report import ProgressReport


class Client:
    """The door to a cluster with this fault."""

    def __init__(self, fault: ClusterFault) -> None:
        self._fault = fault

    def fault(self) -> ClusterFault:
        return self._fault


def look_at(fault: ClusterFault) -> None:
    throttle = Throttle(None, time.monotonic)
    ProgressReport([], [Client(fault)], lambda _: None, throttle).tick()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(AuthenticationFailed, id="a person has to act"),
        pytest.param(SecretReplaced, id="its clients have the secret of before"),
    ],
)
def test_a_fault_that_its_clients_do_not_outlive_ends_the_session(kind):
    with pytest.raises(kind):
        look_at(kind("no", cluster="east"))


def test_a_cluster_that_is_away_is_waited_for():
    look_at(Unreachable("no", cluster="east"))
