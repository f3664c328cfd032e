"""Offset syncs of a flow: followed, read, archived, and found again.

In reading order: `follower`, `reader`, `batches`, `sync_rows`, `archive`, `archive_manifest`,
`archive_writer`, `sync_files`, `kept_syncs`, `kept_syncs_kernel`, `topic`, `tail`, `dump`, `backfill`.
"""
