"""Re-batching: source batches that cannot pass as they are become dense, compiled and in plain Python.

In reading order: `rebatcher`, `table`, `plain`, `compiled`, `kernels`.
"""
