"""Heartbeats sent in the place of a broker: they keep a standby broker in the ISR, or fence it.

Source: BrokerHeartbeat (API 63, KIP-631); org.apache.kafka.controller.BrokerHeartbeatManager. Only the active
controller accepts it, on the controllers' listener, from principals with CLUSTER_ACTION on the cluster.
Answers were measured on Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest

from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.errors import Remedy
from jobs.cluster.protocol.data.metadata_log import NotAController, NotLeading
from jobs.cluster.protocol.errors import AnswerFault, Denied, Where, answer_fault
from jobs.cluster.protocol.transport.apis import BROKER_HEARTBEAT
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import broker_number, int64
from jobs.cluster.read_only import refuse_when_read_only

_NOT_CONTROLLER = 41
_STALE_BROKER_EPOCH = 77
_BROKER_ID_NOT_REGISTERED = 102
_MISSING_RIGHT = (
    "Speaking for a broker needs the operation CLUSTER_ACTION on the cluster, a right of brokers: "
    "kafka-acls.sh --add --allow-principal User:... --operation ClusterAction --cluster."
)


class StaleBrokerEpoch(AnswerFault):
    """The broker has registered again since its epoch was read, or is not registered any more."""

    code = "stale_broker_epoch"
    remedy = Remedy.RETRY
    meaning = "the broker has another epoch by now"
    hint = "It was restarted: its epoch is read again from the metadata log."


class BrokerNotRegistered(AnswerFault):
    """The controller knows no broker with this id."""

    code = "broker_not_registered"
    remedy = Remedy.OPERATOR
    meaning = "no broker with this id is registered"
    hint = "Start the broker; it registers by itself."


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What is said for a broker.

    `broker_epoch` is the offset of its registration in the metadata log; `metadata_offset` how far it has
    read that log: a fenced broker is unfenced only when that is its epoch or more. `want_fence` True fences
    it.
    """

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    want_fence: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """What the controller makes of the broker; `is_caught_up` compares `metadata_offset` with its own log."""

    is_fenced: bool
    is_caught_up: bool
    should_shut_down: bool


async def send_heartbeat(controllers: Controllers, heartbeat: Heartbeat) -> HeartbeatAnswer:
    """Send one heartbeat to the active controller, wherever it is by now; raises `ClusterFault`.

    `StaleBrokerEpoch`: read the epoch again. `Denied`: CLUSTER_ACTION is missing. `NotLeading`: no
    controller leads now. Controllers take a dead broker for alive while this is sent: query it before
    (`is_alive`).
    """
    doing = "Fencing" if heartbeat.want_fence else "Sending a heartbeat for"
    refuse_when_read_only(controllers.connection.alias, f"{doing} broker {heartbeat.broker_id}")
    return await controllers.ask(lambda connection: _send(connection, heartbeat, doing))


async def _send(connection: BrokerConnection, heartbeat: Heartbeat, doing: str) -> HeartbeatAnswer:
    if connection.versions.best(BROKER_HEARTBEAT.speaks) is None:
        raise NotAController(
            f"{connection.server} is a broker: only controllers take heartbeats.",
            cluster=connection.cluster,
        )
    answer = await connection.request(BROKER_HEARTBEAT, _request(heartbeat))
    where = Where(
        connection.cluster, connection.server.broker_id, f"{doing} broker {heartbeat.broker_id}"
    )
    _raise(int(answer.error_code), where)
    return HeartbeatAnswer(answer.is_fenced, answer.is_caught_up, answer.should_shut_down)


def _request(heartbeat: Heartbeat) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=broker_number(heartbeat.broker_id),
        broker_epoch=int64(heartbeat.broker_epoch),
        current_metadata_offset=int64(heartbeat.metadata_offset),
        want_fence=heartbeat.want_fence,
        want_shut_down=False,
    )


def _raise(error: int, where: Where) -> None:
    fault = answer_fault(error, where)
    if fault is None:
        return
    if error == _NOT_CONTROLLER:
        moved = NotLeading(
            f"{where}: this controller is not the active one.", cluster=where.cluster
        )
        moved.error = fault.error
        raise moved
    for number, kind in _KINDS.items():
        if error == number:
            found = kind(f"{where}: {kind.meaning} ({fault.error}).", cluster=where.cluster)
            found.error = fault.error
            raise found
    if isinstance(fault, Denied):
        fault.hint = _MISSING_RIGHT
    raise fault


_KINDS: dict[int, type[AnswerFault]] = {
    _STALE_BROKER_EPOCH: StaleBrokerEpoch,
    _BROKER_ID_NOT_REGISTERED: BrokerNotRegistered,
}
