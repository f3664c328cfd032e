"""Offset syncs of a flow: followed, read, archived, and found again.

In reading order: `follower`, `reader`, `sync_rows`, `kept_syncs_kernel`, `archive`, `archive_manifest`,
`archive_writer`, `sync_files`, `dump`, `backfill`.
"""
