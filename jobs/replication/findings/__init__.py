"""Silent failures of a flow: rules over one snapshot of it.

In reading order: `codes`, `checks`, `snapshot`, `reading`, `memory`, `silent_failures`,
`partition_failures`, `group_failures`, `loop_failures`, `worker_failures`, `selection_findings`, `drift`,
`connect_topics`, `heartbeat_topics`.
"""
