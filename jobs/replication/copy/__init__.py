"""Copying: the seam between a flow and what moves its records, positions, and who takes turns.

Sub-rooms: `batches`, `records`.

In reading order: `contract`, `flow_copier`, `assignment`, `fetch_scheduler`, `progress_report`,
`positions`, `positions_format`, `fresh_starts`, `fencing`, `sync_tracker`, `heartbeats`.
"""
