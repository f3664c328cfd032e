"""Requests about records: fetched, produced, in transactions; offsets, and how far replicas are.

In reading order: `fetch`, `fetch_format`, `committed_batches`, `produce`, `transactions`,
`transaction_list`, `transaction_log`, `open_transactions`, `offsets`, `metadata_log`.
"""
