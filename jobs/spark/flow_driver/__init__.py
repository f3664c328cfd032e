"""The driver of a replication flow, and the tasks among which it shares out partitions.

In reading order: `replicate`, `copying`, `state`, `crew`, `holdings`, `dealing`, `copy_task`,
`recovery`, `board`, `live_settings`, `following`, `holding_back`, `asking`, `topology`, `clusters`,
`eta`.
"""
