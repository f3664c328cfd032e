"""Replication flows: settings, lag, checkpoints, failover, findings.

Sub-rooms: `flows`, `measurement`, `control`, `checkpoints`, `translation`, `failover`, `findings`,
`mirror_config`.

In reading order: `apps`, `urls`, `models`, `navigation`, `tasks`.
"""
