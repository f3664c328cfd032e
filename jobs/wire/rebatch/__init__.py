"""Re-batching: source batches that cannot pass as they are become dense.

In reading order: `rebatcher`, `table`, `compiled`, `kernels`, `columns`, `column_kernels`.
"""
