"""The states and settings of MirrorMaker 2's connectors, read from the topics that Connect keeps them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from jobs.cluster.client import ClusterClient
from jobs.cluster.topic_reader import TopicRecord, read_whole_topic
from jobs.replication.findings.snapshot import ConnectorStatus
from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.connect_records import (
    ConfigKey,
    ConnectConfig,
    StatusKey,
    decode_config,
    decode_config_key,
    decode_status,
    decode_status_key,
)
from jobs.wire.values import utc_time

SOURCE_CONNECTOR = "MirrorSourceConnector"
CHECKPOINT_CONNECTOR = "MirrorCheckpointConnector"
_UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)


def status_topic(source_alias: str) -> str:
    """Return the topic of states of a dedicated MirrorMaker 2; its dots do not follow any separator."""
    return f"mm2-status.{source_alias}.internal"


def config_topic(source_alias: str) -> str:
    """Return the topic of settings of a dedicated MirrorMaker 2."""
    return f"mm2-configs.{source_alias}.internal"


@dataclass(slots=True)
class Statuses:
    """The last state of each connector and task; `refused` counts records that are none."""

    said: dict[StatusKey, ConnectorStatus] = field(default_factory=dict)
    refused: int = 0

    def take(self, key: bytes | None, value: bytes | None, at: datetime) -> None:
        """Take the next record; a deletion takes the state away."""
        try:
            of, status = decode_status_key(key), None
            if of is not None:
                status = decode_status(value)
        except RecordFormatError:
            self.refused += 1
            return
        if of is not None and status is None:
            self.said.pop(of, None)
        elif of is not None and status is not None:
            self.said[of] = ConnectorStatus(status, at)


@dataclass(slots=True)
class Configs:
    """The last entry of each kind, and how many records were none."""

    entries: dict[ConfigKey, ConnectConfig] = field(default_factory=dict)
    refused: int = 0

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take the next record; a deletion takes the entry away."""
        try:
            of = decode_config_key(key)
            config = decode_config(value) if of is not None else None
        except RecordFormatError:
            self.refused += 1
            return
        if of is not None and config is None:
            self.entries.pop(of, None)
        elif of is not None and config is not None:
            self.entries[of] = config

    def setting(self, connector: str, name: str) -> str | None:
        """Return one setting of a connector as it is there; None when it is not set."""
        entry = self.entries.get(ConfigKey("connector", connector))
        return None if entry is None else entry.properties.get(name)


def read_statuses(client: ClusterClient, source_alias: str) -> Statuses | None:
    """Read the states of the connectors of a flow from its target; None without the topic.

    Raises `ClusterFault`.
    """
    found = Statuses()

    def take(record: TopicRecord) -> None:
        found.take(record.key, record.value, utc_time(record.timestamp_ms or 0) or _UNKNOWN_TIME)

    ends = read_whole_topic(client, status_topic(source_alias), take)
    return None if ends is None else found


def read_configs(client: ClusterClient, source_alias: str) -> Configs | None:
    """Read the settings of the connectors of a flow from its target; None without the topic.

    Raises `ClusterFault`.
    """
    found = Configs()

    def take(record: TopicRecord) -> None:
        found.take(record.key, record.value)

    ends = read_whole_topic(client, config_topic(source_alias), take)
    return None if ends is None else found
