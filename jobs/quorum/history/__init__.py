"""What the metadata log changed, each change with its cause.

In reading order: `changes`, `stamp`, `change_making`, `partition_causes`, `broker_causes`,
`cause_words`, `histories`, `change_json`.
"""
