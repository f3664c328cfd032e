"""Flows: what is wanted and measured of them, where their groups can go on, and what fails in silence.

Sub-rooms: `flows`, `measurement`, `control`, `checkpoints`, `translation`, `failover`, `findings`,
`mirror_config`.

In reading order: `apps`, `urls`, `models`, `navigation`, `tasks`.
"""
