"""Where an offset of one side is on the other, with what proves it.

In reading order: `translator`, `sync_history`, `partition_syncs`, `bulk`, `sync_store_kernel`,
`offset_sync_window`, `record_comparison`, `questions`.
"""
