"""Changes built from the state before and after a record."""

from __future__ import annotations

from typing import TypedDict

from jobs.quorum.history.changes import (
    AclChange,
    Anomaly,
    AnomalyKind,
    BrokerChange,
    Cause,
    ConfigChange,
    ControllerChange,
    DelegationTokenChange,
    FeatureChange,
    PartitionChange,
)
from jobs.quorum.history.partition_causes import PartitionCause
from jobs.quorum.image.partition_registration import PartitionRegistration
from jobs.quorum.image.registrations import (
    Acl,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Topic,
)
from jobs.wire.metadata.log import LogRecord, PassedBatch


class ChangePosition(TypedDict):
    """The fields of `Change` without the cause; see there."""

    offset: int
    epoch: int
    timestamp_ms: int | None
    batch_offset: int | None
    since_offset: int | None
    not_after_ms: int | None
    applied_offset: int | None


def position_of(
    record: LogRecord | PassedBatch, applied_offset: int | None = None
) -> ChangePosition:
    """Return the stamp of a record of a log segment."""
    return ChangePosition(
        offset=record.offset,
        epoch=record.epoch,
        timestamp_ms=record.timestamp_ms,
        batch_offset=record.batch_offset,
        since_offset=None,
        not_after_ms=None,
        applied_offset=applied_offset,
    )


def undated(
    offset: int, epoch: int, since_offset: int | None, not_after_ms: int | None = None
) -> ChangePosition:
    """Return the stamp of what is only known to be so at an offset, and not since when."""
    return ChangePosition(
        offset=offset,
        epoch=epoch,
        timestamp_ms=None,
        batch_offset=None,
        since_offset=since_offset,
        not_after_ms=not_after_ms,
        applied_offset=None,
    )


_NO_JUDGEMENT = PartitionCause(
    Cause.NOTHING, None, None, leader_was_outside=False, began_recovering=False
)


def partition_change(
    position: ChangePosition,
    topic: Topic,
    partition: int,
    states: tuple[PartitionRegistration | None, PartitionRegistration | None],
    why: Cause | PartitionCause,
) -> PartitionChange:
    """Return the change of a partition from (before, after); after None: it is gone.

    Raises ValueError when there is neither.
    """
    before, after = states
    state = before if after is None else after
    if state is None:
        raise ValueError("a partition that was never there does not change")
    judged = why if isinstance(why, PartitionCause) else _NO_JUDGEMENT._replace(cause=why)
    return PartitionChange(
        **position,
        cause=judged.cause,
        topic_id=topic.topic_id,
        topic=topic.name,
        partition=partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        isr=state.isr,
        elr=state.elr,
        last_known_elr=state.last_known_elr,
        replicas=state.replicas,
        adding=state.adding,
        removing=state.removing,
        recovery_state=state.recovery_state,
        directories=state.directories,
        previous_leader=None if before is None else before.leader,
        previous_isr=None if before is None else before.isr,
        previous_elr=None if before is None else before.elr,
        cause_broker=judged.cause_broker,
        election=judged.election,
        leader_was_outside=judged.leader_was_outside,
        began_recovering=judged.began_recovering,
        is_removed=after is None,
    )


def broker_change(
    position: ChangePosition,
    before: BrokerRegistration | None,
    after: BrokerRegistration | None,
    cause: Cause,
) -> BrokerChange:
    """Return the change of a broker's registration; raises ValueError when there is neither."""
    broker = before if after is None else after
    if broker is None:
        raise ValueError("a broker that was never there does not change")
    return BrokerChange(
        **position,
        cause=cause,
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.broker_epoch,
        rack=broker.rack,
        is_fenced=broker.is_fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        endpoints=broker.endpoints,
        log_dirs=broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs,
        features=broker.features,
        previous_is_fenced=None if before is None else before.is_fenced,
        previous_incarnation_id=None if before is None else before.incarnation_id,
        previous_rack=None if before is None else before.rack,
        is_removed=after is None,
    )


def controller_change(
    position: ChangePosition,
    controller: ControllerRegistration,
    cause: Cause,
    *,
    is_removed: bool = False,
) -> ControllerChange:
    """Return the change of a controller's registration."""
    return ControllerChange(
        **position,
        cause=cause,
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        endpoints=controller.endpoints,
        features=controller.features,
        is_removed=is_removed,
    )


def config_change(
    position: ChangePosition,
    resource: tuple[str, str],
    name: str,
    values: tuple[str | None, str | None],
    cause: Cause | None = None,
) -> ConfigChange:
    """Return the change of one setting from (before, after); None: not set."""
    before, after = values
    return ConfigChange(
        **position,
        cause=cause or (Cause.REMOVED if after is None else Cause.SET),
        resource_type=resource[0],
        resource_name=resource[1],
        name=name,
        value=after,
        previous_value=before,
    )


def feature_change(
    position: ChangePosition,
    name: str,
    before: int | None,
    after: int | None,
    cause: Cause | None = None,
) -> FeatureChange:
    """Return the change of a feature's level; None: not set."""
    return FeatureChange(
        **position,
        cause=cause or _feature_cause(before, after),
        name=name,
        level=after,
        previous_level=before,
    )


def _feature_cause(before: int | None, after: int | None) -> Cause:
    if after is None:
        return Cause.REMOVED
    if before is None or before == after:
        return Cause.SET
    return Cause.UPGRADED if after > before else Cause.DOWNGRADED


def acl_change(
    position: ChangePosition, acl_id: str, acl: Acl, cause: Cause, *, is_removed: bool = False
) -> AclChange:
    """Return the change of an access control entry."""
    return AclChange(
        **position,
        cause=cause,
        acl_id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
        is_removed=is_removed,
    )


def token_change(
    position: ChangePosition,
    token_id: str,
    token: DelegationToken | None,
    cause: Cause,
    *,
    is_removed: bool = False,
) -> DelegationTokenChange:
    """Return the change of a delegation token; None: removed, and never seen before."""
    return DelegationTokenChange(
        **position,
        cause=cause,
        token_id=token_id,
        owner=None if token is None else token.owner,
        requester=None if token is None else token.requester,
        renewers=() if token is None else token.renewers,
        issued_at_ms=None if token is None else token.issued_at_ms,
        max_at_ms=None if token is None else token.max_at_ms,
        expires_at_ms=None if token is None else token.expires_at_ms,
        is_removed=is_removed,
    )


def anomaly(
    position: ChangePosition, kind: AnomalyKind, problem: str, record_type: str | None = None
) -> Anomaly:
    return Anomaly(
        **position, cause=Cause.REFUSED, anomaly=kind, problem=problem, record_type=record_type
    )
