"""Configurations as tests write them."""

import json
from collections.abc import Mapping

from jobs.replication.mirror_config.facts import NOTHING_KNOWN, Facts
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.configuration import MirrorConfig, read_config
from jobs.replication.mirror_config.read.properties import write_properties
from jobs.replication.mirror_config.read.text_input import InputFile
from jobs.replication.mirror_config.values import (
    ConnectorClass,
    Finding,
    MirrorFlow,
    Severity,
)

FILE = "conformance.json"
TWO = {"clusters": "A, B", "A.bootstrap.servers": "a:9092", "B.bootstrap.servers": "b:9092"}
SOURCE, CHECKPOINT = ConnectorClass.SOURCE, ConnectorClass.CHECKPOINT


def properties(settings: Mapping[str, str], name: str = "mm2.properties") -> InputFile:
    return InputFile(name, write_properties(list(settings.items())).encode())


def connectors(*configs: Mapping[str, object], name: str = "connectors.json") -> InputFile:
    named = [{"name": f"c{number}", "config": one} for number, one in enumerate(configs)]
    return InputFile(name, json.dumps(named).encode())


def connector(kind: ConnectorClass, **settings: str) -> dict[str, str]:
    values = {
        "connector.class": kind.full_name,
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
    }
    return values | {key.replace("__", ".").replace("_", "-"): v for key, v in settings.items()}


def read(*files: InputFile) -> MirrorConfig:
    return read_config(files)


def flow_of(settings: Mapping[str, str], name: str = "A->B") -> MirrorFlow:
    source, target = name.split("->")
    config = read_config([properties(settings)], (source, target))
    return next(flow for flow in config.flows if flow.name == name)


def bad(*files: InputFile, facts: Facts = NOTHING_KNOWN) -> list[Finding]:
    """The findings that ask somebody to do something."""
    return [f for f in lint(read_config(files), facts) if f.severity is not Severity.INFO]


def codes(*files: InputFile, facts: Facts = NOTHING_KNOWN) -> list[str]:
    return [finding.code for finding in bad(*files, facts=facts)]
