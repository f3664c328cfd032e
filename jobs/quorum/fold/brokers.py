"""Brokers and controllers: how their records change the image (Kafka's `ClusterDelta`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobs.quorum.fold.fold import Data, FoldRecord, MetadataDelta
from jobs.quorum.history.change_builders import (
    ChangePosition,
    anomaly,
    broker_change,
    controller_change,
)
from jobs.quorum.history.changes import AnomalyKind, AnyChange, Cause
from jobs.quorum.image.registrations import (
    BrokerRegistration,
    broker_from_record,
    controller_from_record,
    with_registration_change,
)


def fold_register_broker(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RegisterBrokerRecord replaces the registration; another incarnation is a restart."""
    after = broker_from_record(data)
    before = delta.tables.brokers.get(after.broker_id)
    delta.tables.brokers[after.broker_id] = after
    yield broker_change(position, before, after, _registration_cause(before, after))


def _registration_cause(before: BrokerRegistration | None, after: BrokerRegistration) -> Cause:
    if before is None:
        return Cause.BROKER_REGISTERED
    is_same = before.incarnation_id == after.incarnation_id
    return Cause.REGISTRATION_UPDATED if is_same else Cause.BROKER_RESTARTED


def fold_unregister_broker(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """An UnregisterBrokerRecord takes the registration away."""
    before = delta.tables.brokers.pop(data["brokerId"], None)
    yield from _checked(position, before, data["brokerId"], data, "UNREGISTER_BROKER_RECORD")
    if before is not None:
        yield broker_change(position, before, None, Cause.BROKER_UNREGISTERED)


def fold_fence(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A FenceBrokerRecord (before metadata.version 3.3-IV2)."""
    yield from _fenced(delta, position, data, is_fenced=True)


def fold_unfence(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """An UnfenceBrokerRecord (before metadata.version 3.3-IV2)."""
    yield from _fenced(delta, position, data, is_fenced=False)


def _fenced(
    delta: MetadataDelta, position: ChangePosition, data: Data, *, is_fenced: bool
) -> Iterator[AnyChange]:
    before = delta.tables.brokers.get(data["id"])
    record_type = "FENCE_BROKER_RECORD" if is_fenced else "UNFENCE_BROKER_RECORD"
    told = {"brokerEpoch": data["epoch"]}
    yield from _checked(position, before, data["id"], told, record_type)
    if before is not None:
        after = replace(before, is_fenced=is_fenced)
        delta.tables.brokers[before.broker_id] = after
        cause = Cause.BROKER_FENCED if is_fenced else Cause.BROKER_UNFENCED
        yield broker_change(position, before, after, cause)


def fold_registration_change(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A BrokerRegistrationChangeRecord: fencing, controlled shutdown, log directories."""
    before = delta.tables.brokers.get(data["brokerId"])
    record_type = "BROKER_REGISTRATION_CHANGE_RECORD"
    yield from _checked(position, before, data["brokerId"], data, record_type)
    if before is not None:
        after = with_registration_change(before, data)
        delta.tables.brokers[before.broker_id] = after
        yield broker_change(position, before, after, _change_cause(before, after))


def _change_cause(before: BrokerRegistration, after: BrokerRegistration) -> Cause:
    """Return what a registration change means; of several, the one that moves partitions."""
    if after.in_controlled_shutdown and not before.in_controlled_shutdown:
        return Cause.CONTROLLED_SHUTDOWN
    if after.is_fenced != before.is_fenced:
        return Cause.BROKER_FENCED if after.is_fenced else Cause.BROKER_UNFENCED
    if after.log_dirs != before.log_dirs:
        is_lost = set(after.log_dirs) < set(before.log_dirs)
        return Cause.LOG_DIR_FAILED if is_lost else Cause.LOG_DIRS_CHANGED
    if after.cordoned_log_dirs != before.cordoned_log_dirs:
        return Cause.LOG_DIRS_CORDONED
    return Cause.NOTHING


def _checked(
    position: ChangePosition,
    before: BrokerRegistration | None,
    broker_id: int,
    data: Data,
    record_type: str,
) -> Iterator[AnyChange]:
    """Yield what Kafka would refuse: a broker that is not registered, or another epoch of it."""
    if before is None:
        problem = f"broker {broker_id} changes, but it is not registered"
        yield anomaly(position, AnomalyKind.UNKNOWN_BROKER, problem, record_type)
    elif before.broker_epoch != data["brokerEpoch"]:
        problem = (
            f"broker {broker_id} is registered with epoch {before.broker_epoch}, "
            f"but the record is about epoch {data['brokerEpoch']}"
        )
        yield anomaly(position, AnomalyKind.WRONG_BROKER_EPOCH, problem, record_type)


def fold_register_controller(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RegisterControllerRecord replaces the registration; another incarnation is a restart."""
    after = controller_from_record(data)
    before = delta.tables.controllers.get(after.controller_id)
    delta.tables.controllers[after.controller_id] = after
    is_known = before is not None
    yield controller_change(position, after, Cause.REGISTRATION_UPDATED if is_known else Cause.SET)


def fold_unregister_controller(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """An UnregisterControllerRecord (4.4, KIP-1312) takes the registration away."""
    before = delta.tables.controllers.pop(data["controllerId"], None)
    if before is None:
        problem = f"controller {data['controllerId']} is unregistered, but it is not registered"
        record_type = "UNREGISTER_CONTROLLER_RECORD"
        yield anomaly(position, AnomalyKind.UNKNOWN_BROKER, problem, record_type)
        return
    yield controller_change(position, before, Cause.REMOVED, is_removed=True)


FOLDS: dict[str, FoldRecord] = {
    "REGISTER_BROKER_RECORD": fold_register_broker,
    "UNREGISTER_BROKER_RECORD": fold_unregister_broker,
    "FENCE_BROKER_RECORD": fold_fence,
    "UNFENCE_BROKER_RECORD": fold_unfence,
    "BROKER_REGISTRATION_CHANGE_RECORD": fold_registration_change,
    "REGISTER_CONTROLLER_RECORD": fold_register_controller,
    "UNREGISTER_CONTROLLER_RECORD": fold_unregister_controller,
}
