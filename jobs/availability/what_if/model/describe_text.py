"""A cluster as text: what `kafka-topics.sh --describe` prints, from 2.2 to 4.3, or JSON."""

from __future__ import annotations

import re
from typing import Any

from jobs.availability.what_if.model.cluster import InvalidCluster
from jobs.json_text import BadJson, each_once, parse_json

_LISTS = {
    "Replicas": "replicas", "Isr": "isr", "Elr": "elr", "LastKnownElr": "last_known_elr",
    "Observers": "observers", "Adding Replicas": "adding", "Removing Replicas": "removing",
    "Offline": "offline_replicas",
}  # fmt: skip
_NAME = re.compile(
    r"(?:^|\s)(Topic|TopicId|PartitionCount|ReplicationFactor|Configs|Partition|Leader|Replicas|Isr|Elr"
    r"|LastKnownElr|Adding Replicas|Removing Replicas|Offline|Observers|LiveObservers|MarkedForDeletion):"
)
_NEXT_CONFIG = re.compile(r",(?=[a-z][a-z.]*=)")
# What the tool leaves out because it is Kafka's own default (`TopicCommand`: `!config.isDefault`).
_DEFAULTS = {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
_WANTED = (
    "It is neither JSON nor what kafka-topics.sh --describe prints. Wanted is a cluster as "
    "`crosslog state --json` or `kcat -L -J` prints it, or one of the forms in docs/formats.md."
)


def document_of_text(text: str) -> Any:
    """Return the document of a text; raises `InvalidCluster`."""
    try:
        return parse_json(text, each_once)
    except BadJson as error:
        found = _described(text)
        if found["topics"]:
            return found
        is_json = text.lstrip()[:1] in {"{", "["}
        raise InvalidCluster({"": str(error) if is_json else _WANTED}) from None


def _described(text: str) -> dict[str, Any]:
    topics: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        told = _fields(line)
        if "Topic" not in told or not {"PartitionCount", "Partition"} & told.keys():
            continue
        topic = topics.setdefault(told["Topic"], {"name": told["Topic"], "partitions": []})
        if "Partition" in told:
            topic["partitions"].append(_partition(told, number))
        else:
            # Before 2.8 the tool could ask ZooKeeper, which knows settings of topics only.
            topic["configs"] = (_DEFAULTS if "TopicId" in told else {}) | _configs(told)
    return {"topics": list(topics.values())}


def _fields(line: str) -> dict[str, str]:
    _, *parts = _NAME.split(line)
    return dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def _partition(told: dict[str, str], number: int) -> dict[str, Any]:
    missing = [name for name in ("Leader", "Replicas", "Isr") if name not in told]
    if missing:
        where = f"line {number}"
        raise InvalidCluster({where: f"{missing[0]} of a partition is wanted; is the line cut?"})
    leader = told["Leader"]
    lists = {
        key: _ids(told[name]) for name, key in _LISTS.items() if told.get(name, "N/A") != "N/A"
    }
    return {
        "partition": told["Partition"],
        "leader": None if leader in {"none", "-1"} else leader,
        **lists,
    }


def _ids(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")] if text else []


def _configs(told: dict[str, str]) -> dict[str, str]:
    pairs = (one.partition("=") for one in _NEXT_CONFIG.split(told.get("Configs", "")) if one)
    return {name: value for name, _, value in pairs}
