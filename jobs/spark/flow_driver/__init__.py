"""The driver of a replication flow, and the tasks among which it shares out partitions.

In reading order: `replicate`, `host`, `driver_loop`, `state`, `task_pool`, `partition_assignment`,
`balancing`, `copy_task`, `recovery`, `progress_table`, `eta`, `pause_rules`, `topology`,
`clusters`.
"""
