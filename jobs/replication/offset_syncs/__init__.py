"""Offset syncs of a flow: followed, read, archived as runs, and found again.

In reading order: `follower`, `reader`, `batches`, `archive`, `archive_manifest`, `archive_writer`,
`runs`, `run_files`, `index`, `offset_sync_store_arrays`, `topic`, `tail`, `dump`, `backfill`.
"""
