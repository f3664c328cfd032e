"""Hand-made records of a metadata log, batch by batch."""

from collections.abc import Iterator
from typing import Any

from jobs.quorum.history.histories import read_changes
from jobs.quorum.image.image import MetadataImage
from jobs.wire.metadata.log import LogRecord

T0 = 1_700_000_000_000
Spec = tuple[str, dict[str, Any]]


def uuid(number: int) -> str:
    """A made-up uuid in Kafka's text form."""
    return f"{number:022d}"


class Log:
    """A log that grows by batches; a batch is a list of (type, data)."""

    def __init__(self, first_offset: int = 0, epoch: int = 1) -> None:
        self.records: list[LogRecord] = []
        self.next_offset = first_offset
        self.epoch = epoch
        self.now_ms = T0

    def batch(self, *specs: Spec, after_ms: int = 100) -> list[LogRecord]:
        """Append one batch and return its records."""
        self.now_ms += after_ms
        first = self.next_offset
        found = [
            record(
                first + at, type_, data, batch_offset=first, epoch=self.epoch, now_ms=self.now_ms
            )
            for at, (type_, data) in enumerate(specs)
        ]
        self.records += found
        self.next_offset += len(found)
        return found


def record(
    offset: int,
    type_: str,
    data: dict[str, Any],
    *,
    batch_offset: int | None = None,
    epoch: int = 1,
    now_ms: int = T0,
    is_control: bool = False,
) -> LogRecord:
    return LogRecord(
        offset=offset,
        epoch=epoch,
        timestamp_ms=now_ms,
        batch_offset=offset if batch_offset is None else batch_offset,
        position=0,
        is_control=is_control,
        type=type_,
        version=0,
        data=data,
    )


def snapshot(end_offset: int, *specs: Spec, epoch: int = 1, now_ms: int = T0) -> list[LogRecord]:
    """The records of a snapshot as a history has them: all with the offset before its end."""
    at = end_offset - 1
    header = record(
        at,
        "SNAPSHOT_HEADER",
        {"version": 0, "lastContainedLogTimestamp": now_ms},
        epoch=epoch,
        now_ms=now_ms,
        is_control=True,
    )
    body = [record(at, type_, data, epoch=epoch, now_ms=now_ms) for type_, data in specs]
    footer = record(
        at, "SNAPSHOT_FOOTER", {"version": 0}, epoch=epoch, now_ms=now_ms, is_control=True
    )
    return [header, *body, footer]


def topic(name: str, topic_id: str) -> Spec:
    return "TOPIC_RECORD", {"name": name, "topicId": topic_id}


def remove_topic(topic_id: str) -> Spec:
    return "REMOVE_TOPIC_RECORD", {"topicId": topic_id}


def partition(
    topic_id: str, number: int = 0, replicas: tuple[int, ...] = (1, 2, 3), **more: Any
) -> Spec:
    told = {
        "partitionId": number,
        "topicId": topic_id,
        "replicas": list(replicas),
        "isr": list(replicas),
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": replicas[0],
        "leaderEpoch": 0,
        "partitionEpoch": 0,
    }
    return "PARTITION_RECORD", told | more


def change(topic_id: str, number: int = 0, **fields: Any) -> Spec:
    return "PARTITION_CHANGE_RECORD", {"partitionId": number, "topicId": topic_id, **fields}


def register(broker: int, epoch: int, incarnation: int = 1, **more: Any) -> Spec:
    told = {
        "brokerId": broker,
        "isMigratingZkBroker": False,
        "incarnationId": uuid(broker * 100 + incarnation),
        "brokerEpoch": epoch,
        "endPoints": [
            {"name": "PLAINTEXT", "host": f"host-{broker}", "port": 9092, "securityProtocol": 0}
        ],
        "features": [],
        "rack": None,
        "fenced": True,
        "inControlledShutdown": False,
    }
    return "REGISTER_BROKER_RECORD", told | more


def registration_change(broker: int, epoch: int, **fields: Any) -> Spec:
    told = {"brokerId": broker, "brokerEpoch": epoch}
    return "BROKER_REGISTRATION_CHANGE_RECORD", told | fields


def fence(broker: int, epoch: int) -> Spec:
    return registration_change(broker, epoch, fenced=1)


def unfence(broker: int, epoch: int) -> Spec:
    return registration_change(broker, epoch, fenced=-1)


def unregister(broker: int, epoch: int) -> Spec:
    return "UNREGISTER_BROKER_RECORD", {"brokerId": broker, "brokerEpoch": epoch}


def config(name: str, value: str | None, resource: tuple[int, str] = (2, "orders")) -> Spec:
    told = {"resourceType": resource[0], "resourceName": resource[1], "name": name, "value": value}
    return "CONFIG_RECORD", told


def feature(name: str, level: int) -> Spec:
    return "FEATURE_LEVEL_RECORD", {"name": name, "featureLevel": level}


def begin(name: str | None = None) -> Spec:
    return "BEGIN_TRANSACTION_RECORD", {} if name is None else {"name": name}


def end() -> Spec:
    return "END_TRANSACTION_RECORD", {}


def abort() -> Spec:
    return "ABORT_TRANSACTION_RECORD", {"reason": "the controller changed"}


def no_op() -> Spec:
    return "NO_OP_RECORD", {}


ORDERS = uuid(77)


def cluster(log: Log, brokers: tuple[int, ...] = (1, 2, 3)) -> None:
    """Brokers 1, 2 and 3, registered with epoch 10 times their id and unfenced, and topic orders."""
    for broker in brokers:
        log.batch(register(broker, broker * 10))
        log.batch(unfence(broker, broker * 10))
    log.batch(topic("orders", ORDERS), partition(ORDERS, 0), partition(ORDERS, 1, (2, 3, 1)))


def folded(records: list[LogRecord]) -> MetadataImage:
    image = MetadataImage()
    for one in records:
        image.apply(one)
    return image


def changes_of(records: list[LogRecord], of: type | tuple[type, ...] = object) -> list[Any]:
    return [one for one in read_changes(iter(records)) if isinstance(one, of)]


def each_prefix(records: list[LogRecord]) -> Iterator[list[LogRecord]]:
    for size in range(len(records) + 1):
        yield records[:size]
