"""What a browser sends when somebody makes a flow."""


def flow_form(**changes):
    """Return the fields of the form with their defaults."""
    return {
        "name": "f",
        "source": "east",
        "target": "west",
        "topics": "orders",
        "topics_exclude": "",
        "groups": ".*",
        "groups_exclude": "",
        "policy": "default",
        "separator": ".",
        "replication_factor": "",
        "tasks": "1",
        "on_recreated": "stop",
        "path": "auto",
        "delivery": "exactly_once",
        "isolation_level": "read_committed",
        "offset_syncs": "target",
        "heartbeats": "target",
        "engine": "shared",
        "commit_interval_ms": "1000",
        "emit_checkpoints_interval_s": "60",
        "sync_group_offsets_interval_s": "60",
        "on_existing": "refuse",
    } | changes
