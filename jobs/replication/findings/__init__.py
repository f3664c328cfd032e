"""What fails in a flow although everything says RUNNING: rules over one picture of it.

In reading order: `finding`, `life`, `picture`, `reading`, `memory`, `silent_failures`,
`partition_failures`, `group_failures`, `loop_failures`, `worker_failures`, `surprises`, `drift`,
`connect_topics`, `heartbeat_topics`.
"""
