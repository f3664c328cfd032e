"""The tables of a metadata log: names, columns and types. docs/formats.md says the same for readers.

In all of them `offset` is that of the record (of a snapshot: the last one it contains), `epoch` the raft
epoch of its batch, `timestamp_ms` the clock of the active controller, null where only a snapshot tells; then
it was at or before `not_after_ms`. Absent values are null.
"""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.quorum.replay.arrow import SCHEMA as PARTITION_CHANGES

_PLACE = [
    ("offset", pa.int64()),
    # Where it takes effect: of a record in a transaction, the offset of the record that ends it.
    ("effective_offset", pa.int64()),
    ("epoch", pa.int32()),
    ("timestamp_ms", pa.int64()),
    ("not_after_ms", pa.int64()),
    ("cause", pa.string()),
]
_IDS = pa.list_(pa.int32())
_WORDS = pa.list_(pa.string())
# A broker's registration after the change; `is_removed`: unregistered, the rest is what was last there.
BROKER_CHANGES = pa.schema(
    [
        *_PLACE,
        ("broker_id", pa.int32()),
        ("rack", pa.string()),
        ("incarnation_id", pa.string()),
        ("broker_epoch", pa.int64()),
        ("is_fenced", pa.bool_()),
        ("in_controlled_shutdown", pa.bool_()),
        ("is_removed", pa.bool_()),
        ("previous_is_fenced", pa.bool_()),
        ("previous_rack", pa.string()),
        ("endpoints", _WORDS),
    ]
)
# One setting; `value` null: removed. `resource_type` is Kafka's name (BROKER and "": the default).
CONFIG_CHANGES = pa.schema(
    [
        *_PLACE,
        ("resource_type", pa.string()),
        ("resource_name", pa.string()),
        ("name", pa.string()),
        ("value", pa.string()),
        ("previous_value", pa.string()),
    ]
)
# A finalised feature's level; null: not set.
FEATURES = pa.schema(
    [*_PLACE, ("name", pa.string()), ("level", pa.int32()), ("previous_level", pa.int32())]
)
TOPIC_CHANGES = pa.schema(
    [*_PLACE, ("topic_id", pa.string()), ("topic", pa.string()), ("is_removed", pa.bool_())]
)
# The voters from an offset on: `voter_ids` in order, `voters` as ID@DIRECTORY; `added`, `removed` alike.
# `source`: log, snapshot, bootstrap, leader_change (a static quorum: ids only).
VOTER_SETS = pa.schema(
    [
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp_ms", pa.int64()),
        ("voter_ids", _IDS),
        ("voters", _WORDS),
        ("added", _WORDS),
        ("removed", _WORDS),
        ("source", pa.string()),
        ("is_static", pa.bool_()),
        ("is_after_gap", pa.bool_()),
    ]
)
# A leader that took office. `gap_ms`: how long no record was written before; `ended_ms`: the time of its
# last record (an epoch's end).
ELECTIONS = pa.schema(
    [
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp_ms", pa.int64()),
        ("leader_id", pa.int32()),
        ("previous_leader_id", pa.int32()),
        ("voter_ids", _IDS),
        ("granting_ids", _IDS),
        ("gap_ms", pa.int64()),
        ("skipped_epochs", pa.int32()),
        ("ended_ms", pa.int64()),
    ]
)
# No record for much longer than NoOps are apart: no controller was active from the last record to the next.
SILENCES = pa.schema(
    [
        ("from_offset", pa.int64()),
        ("to_offset", pa.int64()),
        ("from_ms", pa.int64()),
        ("to_ms", pa.int64()),
        ("is_election", pa.bool_()),
    ]
)
SCHEMAS = {
    "partition_changes": PARTITION_CHANGES,
    "broker_changes": BROKER_CHANGES,
    "voter_sets": VOTER_SETS,
    "elections": ELECTIONS,
    "silences": SILENCES,
    "config_changes": CONFIG_CHANGES,
    "features": FEATURES,
    "topic_changes": TOPIC_CHANGES,
}
