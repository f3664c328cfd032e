"""Record batches of the current format: their frame, their records, checksums and compressions.

In reading order: `record_batch`, `records`, `varints`, `compression`, `hashes`,
`log_batches`, `batch_search`.
"""
