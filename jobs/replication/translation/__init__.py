"""Offset translation with certificates.

In reading order: `translator`, `sync_history`, `bounds`, `partition_syncs`, `bounded`,
`record_comparison`, `questions`.
"""
