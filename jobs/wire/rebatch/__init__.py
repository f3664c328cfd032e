"""Re-batching: source batches that cannot pass as they are become dense ones, compiled and in plain
Python.

In reading order: `rebatcher`, `table`, `plain`, `compiled`, `kernels`.
"""
