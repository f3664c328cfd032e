"""What Kafka's own MirrorMakerConfig makes of mm2.properties, and what crosslog says: the same."""

import json
import subprocess
from pathlib import Path

import pytest

from jobs.lab.properties import logging_configuration
from jobs.replication.mirror_config.catalogue import (
    DEFAULTS,
    NEWER_DEFAULTS,
    REMOVED_IN_4,
    reaches_connectors,
)
from jobs.replication.mirror_config.naming import topic_names
from jobs.replication.mirror_config.read.configuration import read_config
from jobs.replication.mirror_config.read.properties import read_properties
from jobs.replication.mirror_config.read.text_input import InputFile
from jobs.replication.mirror_config.values import (
    ConnectorClass,
    Kind,
    address_problem,
    pair_name,
    split_list,
)
from tests.support import NO_COMPILER

pytestmark = pytest.mark.timeout(900)

PROGRAM = Path(__file__).with_name("AskMirrorConfig.java")
PLAIN = """
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
FILES = {
    "plain": PLAIN,
    "not enabled": PLAIN.replace("true", "false"),
    "a blank after true": PLAIN.replace("true", "true "),
    "no heartbeats": f"{PLAIN}emit.heartbeats.enabled = false\n",
    "three clusters": PLAIN.replace("A, B", "A, B , C")
    + "C.bootstrap.servers = c:1\nB->C.enabled=TRUE\n",
    "top level": f"{PLAIN}offset.lag.max = 5\nproducer.batch.size = 1\ntopics = a, b\ntransforms = x\n"
    "transforms.x.type = y\nnonsense = 1\ntopics.exclude = z\nexactly.once.support = required\n",
    "flow wins": f"{PLAIN}topics = a\nA->B.topics = b\nA->B.producer.acks = 1\nA->B.name = mine\n",
    "clients": f"{PLAIN}A.consumer.max.poll.records = 5\nB.producer.batch.size = 7\nB.admin.retries = 3\n"
    "A.consumer.bootstrap.servers = elsewhere:1\nA.offset.storage.topic = x\n",
    "security": f"{PLAIN}security.protocol = SASL_SSL\nsasl.mechanism = PLAIN\nA.security.protocol = PLAINTEXT\n"
    "B.ssl.truststore.location = /x\nssl.client.auth = none\nssl.protocol = TLSv1.3\n"
    "A.ssl.principal.mapping.rules = y\nsasl.oauthbearer.scope.claim.name = s\nB.sasl.login.class = z\n"
    "ssl.endpoint.identification.algorithm =\n",
    "policies": f"{PLAIN}replication.policy.separator = _\nreplication.policy.own = 1\n"
    "config.providers = file\n"
    "config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider\n",
    "workers": f"{PLAIN}offset.storage.replication.factor = 1\nB.group.id = mine\ntask.x = 1\nworkers.y = 2\n"
    "key.converter = org.apache.kafka.connect.storage.StringConverter\nB.client.id = me\nstatus.storage.topic = s\n"
    "value.converter.schemas.enable = false\nA.group.id = other\nB.exactly.once.source.support = enabled\n",
    "prefixes": "clusters = us, us.west\nus.bootstrap.servers = a:1\nus.west.bootstrap.servers = b:1\n"
    "us->us.west.enabled = true\nus->us.west.topics = x\n",
    "escapes": "clusters = A\\, B\nA.bootstrap.servers : a:1\nB.bootstrap.servers b:1\nA->B.topics = a\\\n"
    "    \\u002cb\\tc\\\\\n! no\nA->B.groups = gr\u00fcn\nA\\->B.enabled=true\n",
    "aliases": f"{PLAIN}source.cluster.alias = x\nA.alias = hall\nB->A.target.cluster.alias =\n",
    "empty aliases": f"{PLAIN}source.cluster.alias =\ntarget.cluster.alias =\n"
    "replication.policy.separator =\n",
    "blanks": PLAIN.replace("A, B", "A, B ").replace("true", "true ")
    + "source.cluster.alias = x \nreplication.policy.separator = _\noffset-syncs.topic.location = target \n"
    "replication.policy.internal.topic.separator.enabled = true \ntasks.max = 2 \n",
    "identity and blanks": f"{PLAIN}A->B.source.cluster.alias = x \n"
    "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy \n",
    "a blank in the separator": f"{PLAIN}replication.policy.separator = - \n",
    "enabled for all": "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\n"
    "enabled = true \nA->B.emit.heartbeats.enabled = false \n",
    "removed": f"{PLAIN}use.incremental.alter.configs = required\n",
}


@pytest.fixture(scope="module")
def answers(kafka, tmp_path_factory):
    """What Kafka says of each file, and the defaults of its connectors."""
    folder = tmp_path_factory.mktemp("mirror-config")
    logging = folder / "log4j2.properties"
    logging.write_text(logging_configuration("error"), encoding="utf-8")
    paths = []
    for number, text in enumerate(FILES.values()):
        path = folder / f"{number}.properties"
        path.write_bytes(text.encode("utf-8"))
        paths.append(str(path))
    command = kafka.command(str(PROGRAM), paths, logging=logging)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "jdk.compiler" in done.stderr:
        pytest.skip(NO_COMPILER)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert lines, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(lines[0].removeprefix("ANSWERS "))
    return dict(zip(FILES, told["files"], strict=True)), told["defaults"], told["addresses"]


def deployment_of(name):
    (found,) = read_config([InputFile(name, FILES[name].encode("utf-8"))]).deployments
    return found


@pytest.mark.parametrize("name", FILES)
def test_settings_and_pairs_are_read_alike(answers, name):
    theirs = answers[0][name]
    ours = {
        line.key: line.value for line in read_properties(FILES[name].encode().decode("iso-8859-1"))
    }
    assert ours == theirs["settings"]
    assert {pair_name(pair) for pair in deployment_of(name).pairs} == set(theirs["pairs"])


def as_written(value):
    """The value that is handed to a reader, which may trim it."""
    return value.value if value.entry is None else value.entry.value


@pytest.mark.parametrize("name", FILES)
def test_connectors_read_the_same_switch_and_names(answers, name):
    deployment = deployment_of(name)
    for flow in deployment.flows:
        theirs, names = answers[0][name]["names"][flow.name], topic_names(flow)
        if theirs is not None:
            assert (
                flow.is_enabled,
                names.remote_orders,
                names.offset_syncs,
                names.checkpoints,
            ) == (
                theirs["enabled"],
                theirs["remote"],
                theirs["syncs"],
                theirs["checkpoints"],
            )


def test_the_same_addresses_are_refused(answers):
    ours = {
        text: all(address_problem(one) is None for one in split_list(text) or [""])
        for text in answers[2]
    }
    assert ours == answers[2]


@pytest.mark.parametrize("name", FILES)
def test_connectors_get_the_same_settings(answers, name):
    theirs = answers[0][name]["connectors"]
    for flow in deployment_of(name).flows:
        for connector in flow.connectors:
            kind = connector.kind.value.removeprefix("Mirror").removesuffix("Connector")
            expected = theirs[f"{flow.name} {kind}"]
            ours = {
                key: as_written(value)
                for key, value in connector.config.items()
                if key in expected or value.kind is not Kind.DEFAULT
            }
            # An old name counts for the new one in crosslog, and is nothing to Kafka 4.
            ours = {key: text for key, text in ours.items() if key not in REMOVED_IN_4}
            assert ours == expected


@pytest.mark.parametrize("name", FILES)
def test_workers_get_the_same_settings(answers, name):
    for flow in deployment_of(name).flows:
        expected = answers[0][name]["workers"][flow.name]
        ours = {
            key: as_written(value)
            for key, value in flow.worker.items()
            if key in expected or value.kind is not Kind.DEFAULT
        }
        assert ours == expected


def test_connectors_have_the_same_defaults(answers):
    for kind in ConnectorClass:
        theirs = answers[1][kind.value.removeprefix("Mirror").removesuffix("Connector")]
        ours = {key: text for key, text in DEFAULTS[kind].items() if key in theirs}
        ours |= {
            key: text for key, text in NEWER_DEFAULTS.items() if key in ours and kind is SOURCE
        }
        assert {key: theirs[key] for key in ours} == ours


def test_every_setting_of_a_connector_is_known(answers):
    for theirs in answers[1].values():
        assert {key for key in theirs if not reaches_connectors(key)} == set()


SOURCE = ConnectorClass.SOURCE
