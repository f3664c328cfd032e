"""Records of internal topics: of MirrorMaker 2, of Connect and of consumer groups.

In reading order: `offset_syncs`, `offset_sync_kernels`, `sync_batch`, `sync_links`,
`consumer_offsets`, `connect_records`, `connect_json`, `internal_logs`.
"""
