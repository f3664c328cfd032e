"""Requests about records: fetched, produced, in transactions; offsets, and how far replicas are.

In reading order: `fetch`, `fetch_format`, `produce`, `produce_format`, `batch`, `transactions`,
`transaction_list`, `offsets`, `group_offsets`, `metadata_log`, `replica_offsets`, `replica_lags`,
`replica_log_dirs`.
"""
