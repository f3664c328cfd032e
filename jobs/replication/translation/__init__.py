"""Where an offset of one side is on the other, with what proves it.

In reading order: `translator`, `sync_history`, `bounds`, `partition_syncs`, `bounded`,
`record_comparison`, `questions`.
"""
