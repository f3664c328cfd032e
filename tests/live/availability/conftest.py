"""One lab of four nodes for all tests of standby brokers: its last user loses a site of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.live.availability.standby_cluster import (
    SETTINGS,
    STANDBY,
    StandbyCluster,
    is_calm,
    partitions,
    wait_until_fenced,
)
from tests.live.quorum.quorums import described, remove_voter
from tests.live.shared_labs import SHARED
from tests.live.topics import new_topic_on
from tests.waiting import eventually


@pytest.fixture(scope="session")
def sites(kafka, tmp_path_factory) -> Iterator[StandbyCluster]:
    """Two sites with two nodes each; node 4 is the standby, and no voter, so that it never leads."""

    def plans(base_port: int) -> list[ClusterPlan]:
        racks = ("site-a", "site-a", "site-b", "site-b")
        return [ClusterPlan("standby", 4, base_port, racks=racks, node_overrides=SETTINGS)]

    lab = Lab(tmp_path_factory.mktemp("standby-lab"), plans(find_base_port(plans)), jvm=kafka)
    SHARED.append((Path(__file__).parent, lab.kill))
    lab.start()
    cluster = lab.cluster("standby")
    doors = ClusterConnections(cluster.connection)
    voter = next(one for one in described(cluster).voters if one.id == STANDBY)
    remove_voter(cluster, STANDBY, voter.directory_id)
    topic = new_topic_on(cluster, [[1, 2, STANDBY], [2, 1, STANDBY]], min_insync_replicas="2")
    wait_until_fenced(doors)
    eventually(lambda: not any(STANDBY in one.isr for one in partitions(doors, topic).values()), 30)
    yield StandbyCluster(cluster, doors, topic)
    lab.kill()


@pytest.fixture(scope="module")
def world(sites) -> StandbyCluster:
    """The sites as a file of tests wants to find them: all in sync, and the standby fenced and following."""
    eventually(lambda: is_calm(sites), 60, every=0.5)
    return sites
