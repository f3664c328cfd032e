"""What the metadata log changed, each change with its cause.

In reading order: `changes`, `change_position`, `change_builders`, `partition_causes`, `broker_causes`,
`cause_labels`, `histories`, `change_json`.
"""
