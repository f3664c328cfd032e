"""Acting on plain Kafka when an ISR shrinks: four actors, and the loop that keeps a promotion.

Sub-rooms: `standby`.

In reading order: `plans`, `cluster_connections`, `partition_facts`, `fenced_standby`, `held_back_replica`,
`reassign_to_spare`, `relaxed_min_isr`.
"""
