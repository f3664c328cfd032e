"""Records of internal topics: of MirrorMaker 2, of Connect, of Kafka Streams and of consumer groups.

In reading order: `offset_syncs`, `offset_sync_kernels`, `sync_batch`, `sync_links`,
`consumer_offsets`, `streams_topics`, `connect_records`, `connect_json`, `internal_logs`.
"""
