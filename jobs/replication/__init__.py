"""Replication: naming policy, selection, positions, copying and lag rules.

Sub-rooms: `flow`, `naming`, `copy`, `topics`, `offset_syncs`, `translation`, `checkpoints`,
`findings`, `failover`, `mirror_config`.

In reading order: `policy`, `offset_sync_store`.
"""
