"""Record `streams_live`: real Kafka Streams applications, as their broker and their own JVMs see them."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from kio.schema.describe_groups.v6.request import DescribeGroupsRequest
from kio.schema.types import GroupId

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.apis import DESCRIBE_GROUPS, DESCRIBE_STREAMS_GROUPS, Api
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.streams_describe import StreamsGroupDescribeRequest
from jobs.cluster.topic_reader import TopicRecord, read_whole_topic
from jobs.lab.cluster import Cluster
from jobs.lab.errors import NotServing
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.streams.application import (
    RUNNING_S,
    STREAMS,
    StreamsApplication,
    StreamsSettings,
    make_topics,
)
from jobs.lab.streams.orders import OrderWriter
from jobs.lab.streams.settled import route_alike, settled_inside
from jobs.streams.collection.applications import find_applications, observe
from tools.recording.case_files import write_json
from tools.recording.kafka_classes import ask
from tools.recording.streams import MAIN

_BUDGET_S, _ORDERS_PER_S = 30.0, 10.0
_FIRST_GROUP_RECORD = 2
# Name -> application id, its settings, and the endpoints of its instances, which start one after the other.
CONSTELLATIONS: dict[str, tuple[str, dict[str, Any], dict[str, str | None]]] = {
    "classic_two_instances": ("orders-app", {"threads": 2, "with_regions": True},
                              {"A1": "h1.example:7071", "A2": "h2.example:7072"}),
    "one_without_endpoint": ("orders-app-eu", {}, {"B1": None, "B2": "h2.example:7082"}),
    "streams_protocol": ("orders-app-streams", {"protocol": STREAMS},
                         {"C1": "h1.example:7091", "C2": "h2.example:7092"}),
}  # fmt: skip


def record_streams_live(version: str, folder: Path) -> None:
    """Run each constellation on a cluster of its own Kafka, and write its capture below the folder."""
    jvm = kafka_jvm(version)

    def plans(base_port: int) -> list[ClusterPlan]:
        return [ClusterPlan("streams", 1, base_port, kafka=version)]

    with tempfile.TemporaryDirectory(prefix="crosslog-recording-") as temporary:
        root = Path(temporary)
        with Lab(root / "lab", plans(find_base_port(plans)), jvm=jvm) as lab:
            cluster = lab.cluster("streams")
            make_topics(cluster.connection)
            with OrderWriter(cluster.connection, rate=_ORDERS_PER_S):
                for name, (application_id, settings, endpoints) in CONSTELLATIONS.items():
                    wanted = StreamsSettings(application_id, cluster.bootstrap_servers, **settings)
                    with StreamsApplication(root / name, jvm, wanted) as application:
                        for instance, endpoint in endpoints.items():
                            application.start(instance, endpoint)
                            application.wait_until_running()
                        write_capture(cluster, application, folder / name)


def write_capture(cluster: Cluster, application: StreamsApplication, folder: Path) -> None:
    """Write what the broker tells of a settled application, and what its instances say before and after.

    Raises `NotServing` when it does not settle, or its instances do not route alike.
    """
    group, standbys = application.settings.application_id, application.settings.standbys
    end = time.monotonic() + RUNNING_S
    while True:
        before = settled_inside(application, standbys)
        outside = asyncio.run(_outside(cluster.connection, group))
        after = settled_inside(application, standbys)
        # With the streams protocol each learns of a new routing with its own heartbeat.
        alike = dict.fromkeys(application.instances, next(iter(before.values()), {}))
        if before and after and route_alike(alike, before) and route_alike(alike, after):
            break
        if time.monotonic() > end:
            raise NotServing(f"{group} has not settled in {RUNNING_S:.0f} s.")
    version = application.jvm.release.version
    question = outside["raw"]["describe_groups"] | {"id": group, "kind": "describe_groups"}
    told = ask(MAIN, {"cases": [question]}, version)[group]
    files = {
        "outside": {"group": group, "broker": version, "describe_groups": told} | outside,
        "inside": {"before": before, "after": after},
        "group_log": _group_log(cluster.connection, group),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_json(folder / f"{name}.json", content)
    topology = next(iter(application.instances.values())).topology()
    (folder / "topology.txt").write_text(topology, encoding="utf-8")


async def _outside(connection: Connection, group: str) -> dict[str, Any]:
    groups = (cast("GroupId", group),)
    classic = DescribeGroupsRequest(groups=groups, include_authorized_operations=False)
    streams = StreamsGroupDescribeRequest(
        group_ids=groups, include_authorized_operations=False, include_topology_description=False
    )
    async with RawCluster(connection, client_id="recording") as cluster:
        found = await find_applications(cluster, known=[group], budget_s=_BUDGET_S)
        now_ms = int(time.time() * 1000)
        seen = await observe(cluster, found, group, now_ms=now_ms, budget_s=_BUDGET_S)
        (broker,) = (await cluster.metadata()).brokers
        coordinator = await cluster.connection_to(broker, COORDINATOR)
        raw = {
            "describe_groups": await _answer(coordinator, DESCRIBE_GROUPS, classic),
            "streams_group_describe": await _answer(coordinator, DESCRIBE_STREAMS_GROUPS, streams),
        }
    return {
        "captured_from": now_ms,
        "list_groups": [{"group_id": one} for one in sorted(seen.group_ids)],
        "raw": raw,
        "committed": {
            f"{topic}:{number}": {"offset": one.offset, "metadata": one.metadata}
            for (topic, number), one in sorted(seen.committed.items())
        },
        "topics": {
            name: {"partitions": one.partitions,
                   "offsets": {number: [one.starts[number], end] for number, end in one.ends.items()}}
            for name, one in seen.topics.items()
        },
    }  # fmt: skip


async def _answer(asked: BrokerConnection, api: Api[Any, Any], request: object) -> dict[str, Any]:
    version = asked.version(api.speaks)
    call = replace(api.call(request, version), decode=lambda read, _: (bytes(read), len(read)))
    return {"version": version, "response_hex": (await asked.ask(call)).hex()}


def _group_log(connection: Connection, group: str) -> list[dict[str, Any]]:
    """Return the records of a group in `__consumer_offsets`, without its commits."""
    rows: list[dict[str, Any]] = []
    named = len(group).to_bytes(2, "big") + group.encode()

    def take(one: TopicRecord) -> None:
        key, value = one.key or b"", one.value
        version = int.from_bytes(key[:2], "big")
        if key[2:].startswith(named) and version >= _FIRST_GROUP_RECORD:
            rows.append({
                "partition": one.partition, "offset": one.offset, "ts": one.timestamp_ms,
                "key_version": version, "key_hex": key.hex(), "value_hex": value and value.hex(),
            })  # fmt: skip

    with ClusterClient(connection) as client:
        read_whole_topic(client, "__consumer_offsets", take)
    return sorted(rows, key=lambda one: (one["partition"], one["offset"]))
