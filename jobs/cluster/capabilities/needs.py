"""What each capability needs of a cluster: requests that crosslog speaks, KRaft, finalized features.

`otherwise` says what crosslog does where one of its requests is missing, `other_needs` what that needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.cluster.protocol.transport.apis import (
    ADD_PARTITIONS_TO_TXN,
    ALTER_REASSIGNMENTS,
    CREATE_ACLS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DESCRIBE_ACLS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_CONSUMER_GROUPS,
    DESCRIBE_GROUPS,
    DESCRIBE_LIVE_CLUSTER,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_QUORUM,
    DESCRIBE_SHARE_GROUPS,
    DESCRIBE_SHARE_OFFSETS,
    DESCRIBE_STREAMS_GROUPS,
    DESCRIBE_TOPIC_PARTITIONS,
    DESCRIBE_TRANSACTIONS,
    ELECT_LEADERS,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    LIST_GROUPS,
    LIST_NEWEST,
    LIST_OFFSETS,
    LIST_REASSIGNMENTS,
    LIST_TRANSACTIONS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH_ONE,
    PRODUCE,
    Api,
    SupportedApi,
)


@dataclass(frozen=True, slots=True)
class Need:
    """A request in version `at_least` or a later one that crosslog speaks.

    `on_all`: every broker must offer it, else any one may be asked. `feature` must be finalized at 1 or more.
    """

    api: SupportedApi
    at_least: int
    on_all: bool = True
    feature: str = ""


@dataclass(frozen=True, slots=True)
class Capability:
    """What a user knows by `title`.

    `on_kraft`: not with metadata in ZooKeeper. `with_ids`: topics must have ids, which ranges do not tell.
    """

    code: str
    title: str
    needs: tuple[Need, ...] = ()
    otherwise: str = ""
    other_needs: tuple[Need, ...] = ()
    on_kraft: bool = False
    with_ids: bool = False


def _each(*apis: Api | SupportedApi) -> tuple[Need, ...]:  # type: ignore[type-arg]  # of any messages
    spoken = [api if isinstance(api, SupportedApi) else api.speaks for api in apis]
    return tuple(Need(one, min(one.versions)) for one in spoken)


def _any(api: Api, at_least: int | None = None, *, feature: str = "") -> Need:  # type: ignore[type-arg]
    speaks = api.speaks
    lowest = min(speaks.versions) if at_least is None else at_least
    return Need(speaks, lowest, on_all=False, feature=feature)


COPY_FROM, COPY_INTO = "copy_from", "copy_into"
RECORDS_FROM, RECORDS_INTO = "record_path_from", "record_path_into"
OFFSET_SYNCS, CHECKPOINTS, GROUP_OFFSETS = "offset_syncs", "checkpoints", "group_offsets"
TOPIC_SYNC, ACL_SYNC, TOPIC_IDS, RECREATED = "topic_sync", "acl_sync", "topic_ids", "recreated"
QUORUM = "quorum"

_GROUPS = _each(LIST_GROUPS, FIND_COORDINATOR, OFFSET_FETCH_ONE, DESCRIBE_GROUPS)
_PRODUCER = _each(PRODUCE, FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN)
_TARGET = _each(METADATA, FETCH, LIST_OFFSETS, DESCRIBE_CONFIGS, CREATE_TOPICS)
_POLLS = _each(METADATA, DESCRIBE_CONFIGS, LIST_OFFSETS)
_WITH_TOPIC_IDS = 12  # of Metadata

CAPABILITIES = (
    Capability(
        COPY_FROM,
        "Copy whole batches from this cluster",
        _each(METADATA, FETCH, LIST_OFFSETS),
        "The record path (path: record) copies record by record, at least once.",
        _each(METADATA, LIST_OFFSETS),
    ),
    Capability(
        COPY_INTO,
        "Write whole batches into this cluster exactly once",
        (*_TARGET, *_PRODUCER, *_each(LIST_TRANSACTIONS, DESCRIBE_TRANSACTIONS)),
        "Unfinished transactions are found by reading __transaction_state; the principal needs READ on it.",
        (*_TARGET, *_PRODUCER),
    ),
    Capability(
        RECORDS_FROM, "Record path from this cluster, at least once", _each(METADATA, LIST_OFFSETS)
    ),
    Capability(RECORDS_INTO, "Record path into this cluster, at least once", _TARGET),
    Capability(OFFSET_SYNCS, "Offset syncs", _each(METADATA, PRODUCE, FETCH, LIST_OFFSETS)),
    Capability(
        CHECKPOINTS,
        "Checkpoints and offset translation",
        (*_each(METADATA, FETCH, LIST_OFFSETS), *_GROUPS),
    ),
    Capability(
        GROUP_OFFSETS,
        "Group offsets synced, failover of groups",
        (*_GROUPS, *_each(OFFSET_COMMIT, OFFSET_DELETE)),
    ),
    Capability(
        TOPIC_SYNC,
        "Remote topics made, grown, and their configs kept",
        _each(CREATE_TOPICS, CREATE_PARTITIONS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS),
    ),
    Capability(ACL_SYNC, "ACLs synced", _each(DESCRIBE_ACLS, CREATE_ACLS)),
    Capability(
        TOPIC_IDS,
        "Topic ids",
        (Need(METADATA.speaks, _WITH_TOPIC_IDS),),
        "Topics are fetched by name.",
        _each(METADATA),
        with_ids=True,
    ),
    Capability(
        RECREATED,
        "Topics that were created again are found",
        (Need(METADATA.speaks, _WITH_TOPIC_IDS),),
        "By offsets alone: a position beyond the end. One that has grown past the position is not found.",
        _each(METADATA, LIST_OFFSETS),
        with_ids=True,
    ),
    Capability("availability", "Replicas, ISR and configs by polling", _POLLS),
    Capability("groups", "Groups: list, members, committed offsets", _GROUPS),
    Capability(
        "group_states",
        "States of groups in lists",
        (Need(LIST_GROUPS.speaks, 4),),
        "The state is Unknown until a group is described.",
        _each(LIST_GROUPS, DESCRIBE_GROUPS),
    ),
    Capability(
        "consumer_groups",
        "Groups of the consumer protocol (KIP-848)",
        (Need(DESCRIBE_CONSUMER_GROUPS.speaks, 0, feature="group.version"),),
    ),
    Capability(
        "share_groups",
        "Share groups (KIP-932)",
        (
            Need(DESCRIBE_SHARE_GROUPS.speaks, 1, feature="share.version"),
            Need(DESCRIBE_SHARE_OFFSETS.speaks, 0),
        ),
        on_kraft=True,
    ),
    Capability(
        "share_lag",
        "Lag of share groups",
        (Need(DESCRIBE_SHARE_OFFSETS.speaks, 1, feature="share.version"),),
        on_kraft=True,
    ),
    Capability(
        "streams_groups",
        "Streams groups (KIP-1071)",
        (Need(DESCRIBE_STREAMS_GROUPS.speaks, 0, feature="streams.version"),),
        "Streams applications with the classic protocol are read as groups.",
        _GROUPS,
    ),
    Capability(
        "newest_times",
        "Lag in time at the end of a log (largest timestamp)",
        _each(LIST_NEWEST),
    ),
    Capability(
        "permitted_operations",
        "Permitted operations on the cluster",
        (_any(DESCRIBE_LIVE_CLUSTER),),
    ),
    Capability("log_dirs", "Size of replicas in log directories", _each(DESCRIBE_LOG_DIRS)),
    Capability(
        "open_transactions",
        "Which transaction holds the last stable offset",
        _each(DESCRIBE_PRODUCERS, LIST_TRANSACTIONS, DESCRIBE_TRANSACTIONS),
        "That an offset is held for too long is seen by polling; by which transaction is not known.",
        _each(LIST_OFFSETS),
    ),
    Capability(
        "reassignments",
        "Reassignments listed",
        (_any(LIST_REASSIGNMENTS),),
    ),
    Capability(
        "acting",
        "Promotion, reassignment and elections done by crosslog",
        (
            _any(DESCRIBE_TOPIC_PARTITIONS),
            _any(DESCRIBE_CLUSTER),
            *_each(ELECT_LEADERS, LIST_REASSIGNMENTS, ALTER_REASSIGNMENTS, DESCRIBE_LOG_DIRS),
        ),
        "Runbooks have the commands of Kafka's own tools.",
        _each(METADATA),
    ),
    Capability(
        "standby",
        "Standby broker kept out of the ISR until it is promoted",
        (_any(DESCRIBE_QUORUM), _any(DESCRIBE_TOPIC_PARTITIONS), _any(DESCRIBE_CLUSTER)),
        on_kraft=True,
    ),
    Capability(
        "fenced_brokers",
        "Fenced brokers",
        (_any(DESCRIBE_CLUSTER),),
        "From the metadata log, where it is followed or uploaded.",
        (_any(DESCRIBE_QUORUM),),
        on_kraft=True,
    ),
    Capability(
        "elr",
        "Eligible leader replicas (KIP-966)",
        (_any(DESCRIBE_TOPIC_PARTITIONS, feature="eligible.leader.replicas.version"),),
        on_kraft=True,
    ),
    Capability(QUORUM, "Voters of the quorum", (_any(DESCRIBE_QUORUM),), on_kraft=True),
    Capability(
        "metadata_log",
        "Metadata log followed",
        (_any(DESCRIBE_QUORUM, 2),),
        "The quorum is polled; the log is followed where the addresses of controllers are given.",
        (_any(DESCRIBE_QUORUM),),
        on_kraft=True,
    ),
    Capability("uploaded_log", "Metadata log uploaded as files", on_kraft=True),
)
