"""Settings that MirrorMaker 2 accepts and that cost more, or protect less, than they seem to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Finding,
    Form,
    MirrorFlow,
    Severity,
    Value,
    finding_at,
    whole_number,
)

# Each refresh lists all topics of both clusters, or all groups of the source.
SHORTEST_REFRESH_S = 30
_SYNC_GROUPS, _EMIT = "sync.group.offsets.enabled", "emit.checkpoints.enabled"
_LAG = "offset.lag.max"
_REFRESHES = {
    ConnectorClass.SOURCE: ("refresh.topics", "all topics of both clusters"),
    ConnectorClass.CHECKPOINT: ("refresh.groups", "all groups of the source"),
}
_INTERNAL_FACTORS = {
    ConnectorClass.SOURCE: "offset-syncs.topic.replication.factor",
    ConnectorClass.CHECKPOINT: "checkpoints.topic.replication.factor",
    ConnectorClass.HEARTBEAT: "heartbeats.topic.replication.factor",
}
_WORKER_FACTORS = tuple(
    f"{name}.storage.replication.factor" for name in ("config", "offset", "status")
)


def lint_choices(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield what is accepted and rarely meant, of flows that copy."""
    if not flow.is_enabled:
        return
    yield from _group_sync(flow)
    yield from _single_replicas(flow)
    for connector in flow.connectors:
        yield from _refresh(flow, connector)
        if connector.kind is ConnectorClass.SOURCE and _sync_per_record(connector):
            yield _warning(
                flow,
                (_LAG, connector.config[_LAG]),
                "sync-per-record",
                f"{_LAG} is {connector.get(_LAG)}: {flow.name} writes an offset sync for every record; "
                "translation gets better for groups without lag only.",
                f"Remove it (the default is 100), or set {_LAG} to 1 or more.",
            )


def _sync_per_record(connector: Connector) -> bool:
    most = _number(connector.config.get(_LAG))
    return most is not None and most <= 0


def _group_sync(flow: MirrorFlow) -> Iterator[Finding]:
    checkpoint = flow.first(ConnectorClass.CHECKPOINT)
    if checkpoint is not None:
        if checkpoint.is_true(_SYNC_GROUPS) and not checkpoint.is_true(_EMIT):
            yield _warning(
                flow,
                (_EMIT, checkpoint.config[_EMIT]),
                "group-sync-without-checkpoints",
                f"{_SYNC_GROUPS} is true, but {_EMIT} is false: groups of {flow.target} are set from "
                "checkpoints, and there are none.",
                f"Set {_EMIT} to true, or {_SYNC_GROUPS} to false.",
            )
        return
    source = flow.first(ConnectorClass.SOURCE)
    if source is not None and flow.form is not Form.PROPERTIES and source.is_true(_SYNC_GROUPS):
        yield _warning(
            flow,
            (_SYNC_GROUPS, source.config[_SYNC_GROUPS]),
            "group-sync-without-checkpoints",
            f"{_SYNC_GROUPS} is true, but {flow.name} has no checkpoint connector: no group of {flow.target} "
            "is ever set.",
            f"Add a MirrorCheckpointConnector of {flow.name}, and set it there.",
        )


def _single_replicas(flow: MirrorFlow) -> Iterator[Finding]:
    found = [
        (key, connector.config[key])
        for connector in flow.connectors
        if (key := _INTERNAL_FACTORS[connector.kind]) in connector.config
    ]
    worker = flow.worker or {}
    found += [(key, worker[key]) for key in _WORKER_FACTORS if key in worker]
    for key, value in found:
        if value.entry is not None and _number(value) == 1:
            yield _warning(
                flow,
                (key, value),
                "single-copy-internal",
                f"{key} is 1: with one broker an internal topic of {flow.name} is offline, and with its disk "
                "the positions, offset syncs or checkpoints in it are lost.",
                f"Set {key} to 3, or to -1 for the broker's default.",
            )


def _refresh(flow: MirrorFlow, connector: Connector) -> Iterator[Finding]:
    name, what = _REFRESHES.get(connector.kind, ("", ""))
    key = f"{name}.interval.seconds"
    seconds = _number(connector.config.get(key))
    if seconds is None or not connector.is_true(f"{name}.enabled"):
        return
    if 0 < seconds < SHORTEST_REFRESH_S:
        yield _warning(
            flow,
            (key, connector.config[key]),
            "refresh-often",
            f"{key} is {seconds}: {flow.name} lists {what} every {seconds} s, and each change that it finds "
            "restarts all tasks of the connector.",
            f"Set {key} to {SHORTEST_REFRESH_S} or more (the default is 600).",
        )


def _warning(flow: MirrorFlow, at: tuple[str, Value], code: str, text: str, do: str) -> Finding:
    return finding_at(flow, at, code, Severity.WARNING, text, do)


def _number(value: Value | None) -> int | None:
    return None if value is None else whole_number(value.value)
