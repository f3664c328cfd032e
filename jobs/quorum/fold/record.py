"""One record folded into tables: the rule for its type, and an anomaly where there is none."""

from __future__ import annotations

from jobs.quorum.fold import brokers as fold_brokers
from jobs.quorum.fold import settings as fold_settings
from jobs.quorum.fold import topics as fold_topics
from jobs.quorum.fold.fold import Data, MetadataDelta
from jobs.quorum.history.change_builders import ChangePosition, anomaly
from jobs.quorum.history.changes import AnomalyKind, AnyChange
from jobs.wire.metadata.log import LogRecord

FOLDS = {**fold_topics.FOLDS, **fold_brokers.FOLDS, **fold_settings.FOLDS}

_NO_OP = "NO_OP_RECORD"
# Records between a topic's record and its partitions while it is created.
# A topic that is made with min.insync.replicas has its ELR cleared before its partitions are written.
_OF_CREATION = frozenset({"TOPIC_RECORD", "CONFIG_RECORD", "CLEAR_ELR_RECORD", "PARTITION_RECORD"})
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError)


def fold_record(
    delta: MetadataDelta, record: LogRecord, position: ChangePosition
) -> list[AnyChange]:
    """Fold a data record into the tables and return what it changed; no content of a record raises."""
    if record.type in FOLDS:
        return fold_data(delta, record.type, record.data, position)
    if record.type == _NO_OP:
        return []
    delta.topic_being_created = None
    return [_unknown(record, position)]


def fold_data(
    delta: MetadataDelta, record_type: str, data: Data, position: ChangePosition
) -> list[AnyChange]:
    """Fold the fields of a record whose type is in `FOLDS`."""
    if record_type not in _OF_CREATION:
        delta.topic_being_created = None
    try:
        return list(FOLDS[record_type](delta, position, data))
    except _MALFORMED as error:
        problem = f"the {record_type} does not hold what it should: {error!r}"
        return [anomaly(position, AnomalyKind.MALFORMED, problem, record_type)]


def _unknown(record: LogRecord, position: ChangePosition) -> AnyChange:
    if record.type == "UNDECODABLE":
        problem = f"the record cannot be decoded: {record.data.get('problem', 'no reason given')}"
        return anomaly(position, AnomalyKind.UNDECODABLE, problem, record.type)
    number = record.data.get("apiKey", "unknown")
    problem = f"record type {number} version {record.version} is not known: its changes are missing"
    return anomaly(position, AnomalyKind.UNKNOWN_RECORD, problem, record.type)
