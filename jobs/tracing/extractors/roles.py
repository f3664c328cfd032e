"""What an extractor can say of a record: its roles, each a text, a list, a number or a time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class RoleType(StrEnum):
    """What the values of a role are; a TIME is Unix ms."""

    TEXT = "text"
    LIST = "list"
    NUMBER = "number"
    TIME = "time"


class Role(NamedTuple):
    """A role with the label and help of its form field."""

    type: RoleType
    label: str
    help: str = ""


_TEXT, _LIST, _NUMBER, _TIME = RoleType.TEXT, RoleType.LIST, RoleType.NUMBER, RoleType.TIME
ROLES: Mapping[str, Role] = {
    "id": Role(_TEXT, "ID", "Of the piece of work: the same in all its records."),
    "type": Role(_TEXT, "Type", "Of the slip or event."),
    "step": Role(_TEXT, "Current step", "The step that this record waits for."),
    "steps": Role(_LIST, "All steps", "In their order."),
    "done": Role(_LIST, "Steps done", "In the order in which they were done."),
    "remaining": Role(_LIST, "Steps left", "In their order."),
    "time": Role(_TIME, "Time", "Default: the timestamp of the record."),
    "parent": Role(_TEXT, "Parent", "The id or span that it came from."),
    "error": Role(
        _TEXT, "Error", "A record that has one is a failure: the class of the exception."
    ),
    "error_message": Role(_TEXT, "Error message"),
    "attempt": Role(_NUMBER, "Attempts", "How often it was tried."),
    "group": Role(_TEXT, "Consumer group", "The group that failed."),
    "original_topic": Role(_TEXT, "Original topic", "Of a dead letter."),
    "original_partition": Role(_NUMBER, "Original partition"),
    "original_offset": Role(_NUMBER, "Original offset"),
    "original_time": Role(_TIME, "Original time"),
    "committed": Role(_TIME, "Commit time", "When the database committed it."),
    "sequence": Role(_NUMBER, "Sequence", "Counts events of one sequence scope."),
    "sequence_scope": Role(_TEXT, "Sequence scope", "Default: one sequence per topic."),
    "transaction": Role(_TEXT, "Transaction", "ID of the database transaction."),
    "status": Role(_TEXT, "Transaction status", "BEGIN or END, of a transaction topic."),
    "event_count": Role(_NUMBER, "Events", "Of a transaction that ended."),
    "collections": Role(_LIST, "Collections", "Of a transaction that ended."),
    "collection_counts": Role(_LIST, "Events by collection", "In the order of the collections."),
    "collection": Role(_TEXT, "Collection", "Of an event: its table."),
    "is_claim": Role(_NUMBER, "Claim check flag", "1: the value is a pointer. Default: has a URI."),
    "uri": Role(_TEXT, "URI", "Of the object that the record is a pointer to."),
    "object_bytes": Role(_NUMBER, "Object size", "In bytes, as the pointer states it."),
    "pointer": Role(_TEXT, "Slip pointer", "Key of the slip in the lookup topic."),
    "lookup_key": Role(_TEXT, "Key in the lookup topic", "Default: the key."),
    "lookup_steps": Role(_LIST, "All steps in the lookup topic"),
    "replays": Role(_NUMBER, "Replays", "How often it was replayed."),
}
# Results show their texts to all users; those of other roles as digests, or to admins only.
OPEN_ROLES = {
    "type", "step", "steps", "done", "remaining", "lookup_steps", "error", "group", "original_topic",
    "status", "collection", "collections",
}  # fmt: skip
