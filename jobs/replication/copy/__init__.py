"""Copying: the seam between a flow and what moves its records, positions, and who takes turns.

Sub-rooms: `batches`, `records`.

In reading order: `contract`, `flow_copier`, `quotas`, `positions`, `fresh_starts`, `sync_tracker`,
`heartbeats`.
"""
