"""`crosslog replicate FLOW.yaml --until-caught-up`: up to where the source ended at the start."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import yaml

from jobs.cluster.admin.acls import AclBinding, create_acls
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.replication.flow.spec import FlowSpec, PolicyName
from tests.live.records import produce
from tests.live.spark.runs import Writer, assert_copied
from tests.live.topics import new_topic

ROOT = Path(__file__).parents[3]
WITHIN_S = 400


def replicate(
    flow: FlowSpec, folder: Path, *options: str, **more: str
) -> subprocess.CompletedProcess[str]:
    file = folder / "flow.yaml"
    file.write_text(yaml.safe_dump({**flow.to_mapping(), **more}))
    return subprocess.run(
        [sys.executable, "-m", "jobs", "replicate", str(file), "--until-caught-up", *options],
        cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip


def flow_of(east, west, topic: str, **settings) -> FlowSpec:
    return FlowSpec(f"once {topic}", east.connection, west.connection, (topic,), **settings)


def test_it_copies_everything_says_how_much_and_has_nothing_left_to_do(east, west, tmp_path):
    topic = new_topic(east, 3)
    written = [r for p in range(3) for r in produce(east, topic, 1000 * p, partition=p)]
    flow = flow_of(east, west, topic, tasks=2)
    done = replicate(flow, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("succeeded: 3,000 records, ")
    again = replicate(flow, tmp_path, "--json")
    assert (again.returncode, json.loads(again.stdout.splitlines()[-1])["records"]) == (0, 0)
    assert_copied(written, west, f"east.{topic}")


def test_it_ends_although_the_source_goes_on_growing(east, west, tmp_path):
    topic = new_topic(east)
    produce(east, topic, 100)
    with Writer(east, topic, [0]):
        done = replicate(flow_of(east, west, topic), tmp_path, "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["outcome"]) == (0, "SUCCEEDED")
    assert last["records"] >= 100


def test_a_partition_that_cannot_be_copied_makes_it_fail_with_the_reason(east, west, tmp_path):
    topic = new_topic(east)
    new_topic_of_the_same_name(west, topic)
    produce(east, topic, 10)
    done = replicate(flow_of(east, west, topic, policy=PolicyName.IDENTITY), tmp_path)
    assert done.returncode == 1
    assert topic in done.stderr


def new_topic_of_the_same_name(cluster, name: str) -> None:
    """With the identity policy, a topic that somebody else has written is not appended to."""
    from tests.live.topics import make_topic

    make_topic(cluster, name)
    produce(cluster, name, 1)


def test_a_flow_that_selects_no_topic_is_refused_until_its_file_confirms_it(east, west, tmp_path):
    produce(east, new_topic(east), 1)
    flow = FlowSpec("hardly wanted", east.connection, west.connection, ("no-topic-of-this-name",))
    refused = replicate(flow, tmp_path)
    assert refused.returncode == 2
    assert "topics of east match: nothing is copied" in refused.stderr
    assert replicate(flow, tmp_path, confirm="hardly wanted").returncode == 0


def test_a_cluster_under_two_aliases_is_refused_before_anything_is_written(east, tmp_path):
    topic = new_topic(east)
    produce(east, topic, 10)
    mirror = replace(east.connection, alias="mirror")
    flow = FlowSpec("to itself", east.connection, mirror, (topic,))
    done = replicate(flow, tmp_path, "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["outcome"]) == (1, "FAILED")
    assert f"the same cluster (cluster id {east.identity.cluster_id})" in last["error"]
    with ClusterClient(east.connection) as client:
        assert f"east.{topic}" not in list_topic_names(client)


def allowed(topic: str, operation: str) -> AclBinding:
    return AclBinding("TOPIC", "LITERAL", topic, "User:limited", "*", operation, "ALLOW")


def test_it_ends_when_only_partitions_are_left_that_may_not_be_read(secure, west, tmp_path):
    cluster = secure.cluster
    readable, refused = (new_topic(cluster) for _ in range(2))
    written = produce(cluster, readable, 100)
    produce(cluster, refused, 10)
    with ClusterClient(cluster.connection) as client:
        rights = [allowed(readable, "READ"), allowed(refused, "DESCRIBE")]
        assert create_acls(client, rights) == dict.fromkeys(rights)
    connection = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    flow = FlowSpec(f"once {readable}", connection, west.connection, (readable, refused))
    done = replicate(flow, tmp_path, "--json")
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["outcome"]) == (1, "FAILED"), done.stderr
    assert f"refused for 60 s: {refused}-0." in last["error"]
    assert f"READ on topic {refused} of secure" in last["error"]
    assert_copied(written, west, f"secure.{readable}")
