"""Records of internal topics: of MirrorMaker 2, Connect, Kafka Streams, consumer groups and transactions.

In reading order: `offset_syncs`, `offset_sync_kernels`, `sync_links`,
`consumer_offsets`, `group_epochs`, `transaction_state`, `streams_topics`, `connect_records`, `internal_logs`.
"""
