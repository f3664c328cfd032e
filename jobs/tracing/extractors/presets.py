"""Presets: where known programs put id, step, time, parent and error.

Header names and encodings: Apache Camel (routing slip EIP), MassTransit Courier, Spring for Apache Kafka
(`KafkaHeaders.DLT_*`), Kafka Streams 4.2 (KIP-1034), Kafka Connect (KIP-298), Debezium, CloudEvents 1.0,
W3C Trace Context, Eventuate Tram Sagas, bakdata's and irori's large messages.
"""

from __future__ import annotations

from collections.abc import Mapping

_DLT = "header:kafka_dlt-"
_STREAMS = "header:__streams.errors."
_CONNECT = "header:__connect.errors."
_TRACE = "header:traceparent as "


def _in_envelope(pointer: str, envelope: str, form: str = "") -> str:
    """Return a field of the value, in an envelope or without it."""
    return f"value:/{envelope}{pointer}{form} | value:{pointer}{form}"


def _headers_of_value(name: str) -> str:
    return f"header:{name} | value:/headers/{name}"


PRESETS: Mapping[str, Mapping[str, str]] = {
    "camel-header": {
        "id": "header:x-slip-id | header:breadcrumbId | key",
        "steps": "header:routingSlip as endpoints | header:routingSlipHeader as endpoints",
        "step": "topic",
    },
    "masstransit": {
        "id": _in_envelope("/trackingNumber", "message"),
        "done": _in_envelope("/activityLogs/*/name", "message"),
        "remaining": _in_envelope("/itinerary/*/name", "message"),
        "error": "header:MT-Fault-ExceptionType | "
        + _in_envelope("/activityExceptions/*/exceptionInfo/exceptionType", "message"),
        "error_message": "header:MT-Fault-Message",
        "attempt": "header:MT-RoutingSlip-RetryCount as int",
    },
    "spring-dlt": {
        "error": f"{_DLT}exception-fqcn",
        "error_message": f"{_DLT}exception-message",
        "group": f"{_DLT}original-consumer-group",
        "original_topic": f"{_DLT}original-topic",
        "original_partition": f"{_DLT}original-partition as big_endian",
        "original_offset": f"{_DLT}original-offset as big_endian",
        "original_time": f"{_DLT}original-timestamp as big_endian",
        "attempt": "header:retry_topic-attempts as big_endian",
        "step": f"{_DLT}original-topic",
    },
    "streams-dlq": {
        "error": f"{_STREAMS}exception as class",
        "error_message": f"{_STREAMS}message",
        "original_topic": f"{_STREAMS}topic",
        "original_partition": f"{_STREAMS}partition as int",
        "original_offset": f"{_STREAMS}offset as int",
        "step": f"{_STREAMS}topic",
    },
    "connect-dlq": {
        "error": f"{_CONNECT}exception.class.name",
        "error_message": f"{_CONNECT}exception.message",
        "group": f"{_CONNECT}connector.name",
        "original_topic": f"{_CONNECT}topic",
        "original_partition": f"{_CONNECT}partition as int",
        "original_offset": f"{_CONNECT}offset as int",
        "step": f"{_CONNECT}stage",
    },
    "debezium-outbox": {
        "id": "header:id",
        "type": "header:type | header:eventType",
        "committed": _in_envelope("/source/ts_ms", "payload")
        + " | "
        + _in_envelope("/ts_ms", "payload"),
        "sequence": _in_envelope("/sequence", "payload"),
        "transaction": _in_envelope("/transaction/id", "payload"),
    },
    "debezium-transaction": {
        "transaction": _in_envelope("/transaction/id", "payload")
        + " | "
        + _in_envelope("/id", "payload"),
        "status": _in_envelope("/status", "payload"),
        "event_count": _in_envelope("/event_count", "payload"),
        "collections": _in_envelope("/data_collections/*/data_collection", "payload"),
        "collection_counts": _in_envelope("/data_collections/*/event_count", "payload"),
        "sequence": _in_envelope("/transaction/total_order", "payload"),
        "committed": _in_envelope("/source/ts_ms", "payload")
        + " | "
        + _in_envelope("/ts_ms", "payload"),
    },
    "cloudevents": {
        "id": "header:ce_id | value:/id",
        "type": "header:ce_type | value:/type",
        "parent": "header:ce_source | value:/source",
        "time": "header:ce_time as iso | value:/time as iso",
        "step": "topic",
    },
    "traceparent": {"id": f"{_TRACE}trace_id", "parent": f"{_TRACE}span_id", "step": "topic"},
    "eventuate": {
        "id": _headers_of_value("commandreply_saga_id"),
        "type": _headers_of_value("commandreply_saga_type"),
        "error": "header:reply_outcome-type as failure | "
        "value:/headers/reply_outcome-type as failure",
        "step": "topic",
    },
    "large-message": {
        "is_claim": "header:__large.message.backed.value as flag | "
        "header:message-is-claim-check as flag",
        "uri": "value",
    },
    "large-message-byte": {"uri": "value as flagged_uri"},
}
