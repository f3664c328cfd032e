"""What the metadata log changed, each change with its cause.

In reading order: `changes`, `change_builders`, `partition_causes`, `broker_causes`, `histories`,
`change_json`.
"""
