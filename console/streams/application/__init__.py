"""The page of one application: figures, matrix of tasks, stores, threads, lag, metadata, topology.

In reading order: `pages`, `matrix`, `lag_rows`, `differences`, `needs`, `probes`.
"""
