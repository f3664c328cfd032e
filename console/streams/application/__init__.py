"""The page of one application: figures, matrix of tasks, stores, threads, lag, metadata, topology.

In reading order: `pages`, `facts`, `matrix`, `lag_rows`, `differences`, `picture`, `forms`.
"""
