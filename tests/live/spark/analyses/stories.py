"""Rows of the tables of a metadata log, with only what a story needs said."""

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
_PLACE = {
    "offset": 0,
    "effective_offset": 0,
    "epoch": 1,
    "timestamp_ms": None,
    "not_after_ms": None,
    "cause": "set",
}
NEEDED = {
    "partition_changes": {
        "epoch": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "recovery_state": 0,
        "elr": [],
        "last_known_elr": [],
        "adding": [],
        "removing": [],
        "leader_was_outside": False,
        "began_recovering": False,
    },
    "broker_changes": {
        **_PLACE,
        "incarnation_id": "i",
        "broker_epoch": 1,
        "is_fenced": False,
        "in_controlled_shutdown": False,
        "is_removed": False,
    },
    "config_changes": _PLACE,
    "features": _PLACE,
    "topic_changes": {**_PLACE, "is_removed": False},
    "voter_sets": {
        "epoch": 1,
        "added": [],
        "removed": [],
        "source": "log",
        "is_static": False,
        "is_after_gap": False,
    },
    "elections": {"skipped_epochs": 0, "voter_ids": [1, 2, 3], "granting_ids": [1, 2]},
    "silences": {},
}


def created(offset, at_ms, isr, *, topic="orders", partition=0, leader=None, **more):
    """A partition that is made, with all its replicas in sync (unless `replicas` says otherwise)."""
    return {
        "offset": offset,
        "timestamp_ms": at_ms,
        "topic_id": more.pop("topic_id", f"id of {topic}"),
        "topic": topic,
        "partition": partition,
        "leader": isr[0] if leader is None else leader,
        "isr": isr,
        "replicas": more.pop("replicas", isr),
        "cause": "topic_created",
        "is_removed": False,
        **more,
    }


def changed(before, offset, at_ms, *, cause, isr=None, leader=None, **more):
    """The row after another one of the same partition."""
    return {
        **before,
        "offset": offset,
        "timestamp_ms": at_ms,
        "leader": before["leader"] if leader is None else leader,
        "isr": before["isr"] if isr is None else isr,
        "previous_leader": before["leader"],
        "previous_isr": before["isr"],
        "cause": cause,
        **more,
    }


def broker(offset, broker_id, rack, *, at_ms=0, **more):
    """A broker that registers for the first time, unless `previous_is_fenced` is given."""
    return {
        "offset": offset,
        "effective_offset": offset,
        "timestamp_ms": at_ms,
        "broker_id": broker_id,
        "rack": rack,
        "cause": "broker_registered",
        **more,
    }


def setting(
    offset, at_ms, value, *, resource=("TOPIC", "orders"), name="min.insync.replicas", **more
):
    """A setting that is set, or removed with None."""
    return {
        "offset": offset,
        "effective_offset": offset,
        "timestamp_ms": at_ms,
        "resource_type": resource[0],
        "resource_name": resource[1],
        "name": name,
        "value": value,
        **more,
    }


def election(offset, at_ms, leader_id, *, epoch, ended_ms, **more):
    """A controller that is elected."""
    return {
        "offset": offset,
        "timestamp_ms": at_ms,
        "leader_id": leader_id,
        "epoch": epoch,
        "ended_ms": ended_ms,
        **more,
    }
